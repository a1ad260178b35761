#include "objects/lifetime.h"

#include "objects/pools.h"

namespace hearth::objects {
namespace {

template <class T>
void give_back(Pool<T>& pool, T& object) {
  object.alive = Pool<T>::kAlive;  // cleared by free_handle()
  pool.destroy(&object);
}

}  // namespace

void destroy(Comm& comm) {
  if (comm.region != kNoRegion) leave_region(comm);
  if (comm.group != nullptr) release(*comm.group);
  if (comm.remote_group != nullptr) release(*comm.remote_group);
  if (comm.errhandler != nullptr) release(*comm.errhandler);
  if (comm.info != nullptr) release(*comm.info);
  give_back(pools.comms, comm);
}

void destroy(Group& group) {
  give_back(pools.groups, group);
}
void destroy(Info& info) {
  give_back(pools.infos, info);
}
void destroy(Op& op) {
  give_back(pools.ops, op);
}
void destroy(Errhandler& errhandler) {
  give_back(pools.errhandlers, errhandler);
}
void destroy(Session& session) {
  if (session.errhandler != nullptr) release(*session.errhandler);
  give_back(pools.sessions, session);
}
void destroy(Win& win) {
  if (win.comm != nullptr) release(*win.comm);
  if (win.errhandler != nullptr) release(*win.errhandler);
  if (win.info != nullptr) release(*win.info);
  give_back(pools.wins, win);
}
void destroy(File& file) {
  if (file.comm != nullptr) release(*file.comm);
  if (file.errhandler != nullptr) release(*file.errhandler);
  if (file.info != nullptr) release(*file.info);
  give_back(pools.files, file);
}

}  // namespace hearth::objects
