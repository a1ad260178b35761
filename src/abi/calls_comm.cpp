// MPI 5.0 sections 7.4 and 7.8: queries on communicators, and freeing them. calls_comm_create.cpp makes them.
#include <algorithm>

#include "abi/comm_making.h"
#include "abi/handle.h"
#include "abi/hints.h"
#include "abi/names.h"
#include "abi/runtime.h"
#include "abi/send_buffers.h"
#include "abi/spawning.h"
#include "hearth_calls.h"
#include "mpi.h"
#include "objects/lifetime.h"
#include "objects/pools.h"
#include "p2p/wait_diagnostics.h"

namespace hearth::mpi {

using objects::Comm;
using objects::Group;
using objects::Info;

Status comm_size(Comm& comm, int& size) {
  size = comm.size;
  return {};
}

Status comm_rank(Comm& comm, int& rank) {
  rank = comm.rank;
  return {};
}

Status comm_compare(Comm& comm1, Comm& comm2, int& result) {
  if (&comm1 == &comm2) {
    result = MPI_IDENT;
    return {};
  }
  if (comm1.is_inter() != comm2.is_inter()) {
    result = MPI_UNEQUAL;
    return {};
  }
  int likeness = objects::compare(*comm1.group, *comm2.group);
  if (comm1.is_inter()) {
    // Larger values are less similar: MPI_IDENT, MPI_SIMILAR, MPI_UNEQUAL.
    likeness = std::max(likeness, objects::compare(*comm1.remote_group, *comm2.remote_group));
  }
  // Two communicators may have the same group, but never the same context id.
  result = likeness == MPI_IDENT ? MPI_CONGRUENT : likeness;
  return {};
}

Status comm_test_inter(Comm& comm, int& flag) {
  flag = comm.is_inter();
  return {};
}

namespace {

Status check_inter(const Comm& comm) {
  if (comm.is_inter()) return {};
  return fail(MPI_ERR_COMM, "the communicator has no remote group: it is an intracommunicator");
}

}  // namespace

// The user frees this group independently of the communicator.
Status comm_group(Comm& comm, Group*& group) {
  return abi::make_group(comm.group->peers, comm.group->session, group);
}

Status comm_remote_size(Comm& comm, int& size) {
  HEARTH_TRY(check_inter(comm));
  size = comm.remote_group->size();
  return {};
}

Status comm_remote_group(Comm& comm, Group*& group) {
  HEARTH_TRY(check_inter(comm));
  return abi::make_group(comm.remote_group->peers, comm.remote_group->session, group);
}

Status comm_get_name(Comm& comm, char* comm_name, int& resultlen) {
  abi::get_name(comm.name, comm_name, resultlen);
  return {};
}

Status comm_set_name(Comm& comm, const char* comm_name) {
  abi::set_name(comm.name, comm_name);
  return {};
}

// Hints. Assertions are stored and have no effect. Hints that name thresholds or algorithms take effect
// (docs/design/tuning.md, docs/design/collectives.md).

Status comm_set_info(Comm& comm, Info* info) {
  if (info == nullptr) return {};
  HEARTH_TRY(abi::check_hints(*info));
  if (comm.info == nullptr) comm.info = objects::pools.infos.create();
  if (comm.info == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for the communicator's hints");
  abi::keep_hints(*info, abi::kCommHints, *comm.info);
  return abi::apply_hints(comm);
}

Status comm_get_info(Comm& comm, Info*& info_used) {
  info_used = objects::pools.infos.create();
  if (info_used == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for another info object");
  abi::list_hints(comm.info, abi::kCommHints, *info_used);
  return {};
}

Status comm_get_parent(Comm*& parent) {
  parent = abi::parent_comm();
  return {};
}

Status comm_free(Comm*& comm) {
  if (comm->predefined != 0) return fail(MPI_ERR_COMM, "%s cannot be freed", comm->name.c_str());
  HEARTH_TRY(objects::delete_attributes(*comm));
  abi::drop_send_buffer(*comm);
  if (comm->info != nullptr) abi::drop_hints(*comm);
  abi::forget_parent(*comm);
  // Pending requests hold references of their own.
  objects::free_handle(*comm);
  comm = nullptr;
  abi::runtime().bridges.leave_unused(false);
  return {};
}

// MPI 5.0 section 11.10.4: like MPI_Comm_free, but waits for operations whose requests were freed
// (MPI_Request_free). The caller must have completed all requests that still have a handle.
Status comm_disconnect(Comm*& comm) {
  if (comm->predefined != 0) return fail(MPI_ERR_COMM, "%s cannot be disconnected", comm->name.c_str());
  p2p::Engine& engine = p2p::engine();
  engine.wait_until(
      [&engine, left = comm] {
        Pool<p2p::Request>& requests = engine.requests().pool();
        for (size_t slot = 0; slot < requests.slots_used(); ++slot) {
          const p2p::Request* request = requests.at(slot);
          if (request != nullptr && request->comm == left && request->handle_freed) return false;
        }
        return true;
      },
      [left = comm](p2p::WaitDiagnostics& note) { note.left_requests(*left); });
  HEARTH_TRY(comm_free(comm));
  abi::runtime().bridges.leave_unused(true);
  return {};
}

}  // namespace hearth::mpi
