#include "abi/comm_making.h"

#include <algorithm>
#include <utility>

#include "abi/requests.h"
#include "base/contexts.h"
#include "coll/coll.h"
#include "mpi.h"
#include "objects/lifetime.h"
#include "objects/pools.h"
#include "p2p/engine.h"

namespace hearth::abi {

using objects::PeerIndex;

Status make_group(Peers peers, Group*& group) {
  group = objects::pools.groups.create();
  if (group == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for another group");
  group->peers = std::move(peers);
  group->index(p2p::engine().self());
  return {};
}

Status make_intracomm(Errhandler& errhandler, uint32_t context, Group* group, Comm*& comm) {
  comm = objects::pools.comms.create();
  if (comm == nullptr) {
    objects::release(*group);
    return fail(MPI_ERR_NO_MEM, "no memory for another communicator");
  }
  comm->context = context;
  comm->group = group;
  comm->rank = group->rank;
  comm->size = comm->peer_count = group->size();
  comm->peers = group->peers.data();
  comm->errhandler = &errhandler;
  objects::retain(errhandler);
  return {};
}

Status make_intracomm(const Comm& parent, uint32_t context, Peers peers, Comm*& comm) {
  Group* group = nullptr;
  HEARTH_TRY(make_group(std::move(peers), group));
  return make_intracomm(*parent.errhandler, context, group, comm);
}

Status make_intercomm(Errhandler& errhandler, ContextPair contexts, Group* local, Group* remote,
                      Comm*& comm) {
  Comm* inter = nullptr;
  objects::retain(*local);  // for inter->local
  const Status status = make_intracomm(errhandler, static_cast<uint32_t>(contexts.inter), local, inter);
  if (!status.ok()) {
    objects::release(*local);
    objects::release(*remote);
    return status;
  }
  inter->remote_group = remote;
  inter->peers = remote->peers.data();
  inter->peer_count = remote->size();
  const Status second =
      make_intracomm(errhandler, static_cast<uint32_t>(contexts.local), local, inter->local);
  if (!second.ok()) {
    objects::release(*inter);
    return second;
  }
  inter->local->alive = 0;  // its address is no handle
  comm = inter;
  return {};
}

Status set_hints(Comm& comm, const Info* info) {
  if (info == nullptr) return {};
  comm.info = objects::pools.infos.create();
  if (comm.info == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for the communicator's hints");
  comm.info->entries = info->entries;
  return {};
}

ContextPair fresh_contexts() {
  ContextPair contexts;
  contexts.inter = static_cast<int>(p2p::engine().new_context());
  contexts.local = static_cast<int>(p2p::engine().new_context());
  return contexts;
}

Status swap_words(PeerIndex peer, uint32_t communicator_context, int tag, const Words& mine, Words& theirs) {
  p2p::Engine& engine = p2p::engine();
  const uint32_t context = communicator_context + kLeaderContext;
  p2p::Request* sending = nullptr;
  constexpr auto kWordBytes = static_cast<int64_t>(sizeof(int));
  HEARTH_TRY(engine.isend(mine.data(), static_cast<int64_t>(mine.size()) * kWordBytes, byte_type(), peer, tag,
                          context, sending));
  p2p::Received received;
  engine.probe(peer, tag, context, received);
  theirs.resize(static_cast<size_t>(received.bytes / kWordBytes));
  const Status status = engine.receive(theirs.data(), received.bytes, byte_type(), peer, tag, context);
  const Status sent = engine.wait(sending);
  return status.ok() ? sent : status;
}

Status agree_on_context(Comm& comm, uint32_t& context) {
  if (comm.rank == 0) context = p2p::engine().new_context();
  return coll::bcast(&context, sizeof context, byte_type(), 0, comm);
}

Status tell_all(Comm& comm, int root, Words& words) {
  auto count = static_cast<int64_t>(words.size());
  HEARTH_TRY(coll::run<coll::bcast>(comm, &count, Count{sizeof count}, byte_type(), root));
  words.resize(static_cast<size_t>(count));
  if (count == 0) return {};
  return coll::run<coll::bcast>(comm, words.data(), count * Count{sizeof(int)}, byte_type(), root);
}

Status swap_between_groups(Comm& inter, const Words& mine, Words& theirs, ContextPair& contexts) {
  // Of the two leaders, the one that comes first in MPI_COMM_WORLD fetches the numbers.
  // The tag is apart from those that users give to leaders of MPI_Intercomm_create.
  constexpr int kTag = -1000;
  if (inter.rank == 0) {
    const bool fetches = inter.group->peers[0] < inter.remote_group->peers[0];
    if (fetches) contexts = fresh_contexts();
    Words said = {contexts.inter, contexts.local};
    said.insert(said.end(), mine.begin(), mine.end());
    HEARTH_TRY(swap_words(inter.remote_group->peers[0], inter.context, kTag, said, theirs));
    if (fetches) std::copy_n(said.begin(), 2, theirs.begin());
  }
  HEARTH_TRY(tell_all(*inter.local, 0, theirs));
  contexts = {theirs[0], theirs[1]};
  theirs.erase(theirs.begin(), theirs.begin() + 2);
  return {};
}

}  // namespace hearth::abi
