// MPI 5.0 section 7.6: intercommunicators from intracommunicators, and back. MPI_Comm_dup, _create and _split
// of intercommunicators are in calls_comm_create.cpp.
#include <algorithm>
#include <utility>

#include "abi/comm_making.h"
#include "abi/runtime.h"
#include "hearth_calls.h"
#include "mpi.h"
#include "objects/lifetime.h"
#include "p2p/engine.h"

namespace hearth::mpi {
namespace {

using abi::Words;
using objects::Comm;
using objects::Group;
using objects::PeerIndex;
using objects::Peers;

Status check_leader(const Comm* peer_comm, int remote_leader) {
  if (peer_comm == nullptr) {
    return fail(MPI_ERR_COMM, "peer_comm is not a communicator, at the local leader, where it counts");
  }
  if (remote_leader < 0 || remote_leader >= peer_comm->peer_count) {
    return fail(MPI_ERR_RANK, "remote_leader is %d, but the ranks of peer_comm are 0 to %d", remote_leader,
                peer_comm->peer_count - 1);
  }
  return {};
}

/// The leaders' exchange: a context id and the processes of the other group, as words for the own group.
Status meet(const Comm& local_comm, const Comm* peer_comm, int remote_leader, int tag, Words& found) {
  HEARTH_TRY(check_leader(peer_comm, remote_leader));
  const PeerIndex other = peer_comm->peers[remote_leader];
  const Words names = abi::names_as_words(local_comm.group->peers);
  Words said = {0};
  said.insert(said.end(), names.begin(), names.end());
  HEARTH_TRY(abi::swap_words(other, peer_comm->context, tag, said, found));
  Peers all;
  HEARTH_TRY(abi::peers_in(found, 1, all));
  all.insert(all.end(), local_comm.group->peers.begin(), local_comm.group->peers.end());
  const bool connected = abi::runtime().bridges.connects(all);
  // The leader that comes first allocates the context id; 0: no segment connects all processes.
  const bool fetches = abi::runtime().bridges.comes_before(p2p::engine().self(), other);
  const Words own = {fetches && connected ? static_cast<int>(p2p::engine().processes().new_context(all)) : 0};
  Words theirs;
  HEARTH_TRY(abi::swap_words(other, peer_comm->context, tag, own, theirs));
  found[0] = fetches ? own[0] : theirs[0];
  if (found[0] != 0) return {};
  return fail(
      MPI_ERR_UNSUPPORTED_OPERATION,
      "no connection joins all processes of the two groups, which are of several jobs. Remedy: connect the "
      "groups by MPI_Comm_accept and MPI_Comm_connect");
}

}  // namespace

Status intercomm_create(Comm& local_comm, int local_leader, Comm* peer_comm, int remote_leader, int tag,
                        Comm*& newintercomm) {
  if (local_comm.is_inter()) return fail(MPI_ERR_COMM, "local_comm is an intercommunicator");
  if (local_leader < 0 || local_leader >= local_comm.size) {
    return fail(MPI_ERR_RANK, "local_leader is %d, but the ranks of local_comm are 0 to %d", local_leader,
                local_comm.size - 1);
  }
  Words found;
  Status status;
  if (local_comm.rank == local_leader) {
    status = meet(local_comm, peer_comm, remote_leader, tag, found);
    if (!status.ok()) found.clear();
  }
  HEARTH_TRY(abi::broadcast_to_group(local_comm, local_leader, found));
  HEARTH_TRY(status);
  if (found.empty()) {
    return fail(MPI_ERR_OTHER,
                "rank %d, the local leader, could not reach the remote one: its error says why",
                local_leader);
  }
  Peers remote_peers;
  HEARTH_TRY(abi::peers_in(found, 1, remote_peers));
  for (const PeerIndex peer : remote_peers) {
    if (local_comm.group->rank_of(peer) == MPI_UNDEFINED) continue;
    return fail(MPI_ERR_COMM,
                "rank %d of MPI_COMM_WORLD is in both groups, which must have no process in common", peer);
  }
  Group* remote = nullptr;
  HEARTH_TRY(abi::make_group(remote_peers, local_comm.group->session, remote));
  objects::retain(*local_comm.group);
  return abi::make_intercomm(*local_comm.errhandler, static_cast<uint32_t>(found[0]), local_comm.group,
                             remote, newintercomm);
}

// The group that passes high=false comes first. If both pass the same value, the group whose rank 0 comes
// first does. The value of rank 0 counts for its whole group.
Status intercomm_merge(Comm& intercomm, int high, Comm*& newintracomm) {
  if (!intercomm.is_inter()) {
    return fail(MPI_ERR_COMM, "the communicator has no remote group: it is an intracommunicator");
  }
  const Peers& local = intercomm.group->peers;
  const Peers& remote = intercomm.remote_group->peers;
  Words theirs;
  abi::OwnedAllocation owned;
  const int said = high != 0;
  HEARTH_TRY(abi::swap_between_groups(intercomm, {said}, theirs, true, owned));
  Words first = {said != theirs[0] ? said == 0 : abi::runtime().bridges.comes_before(local[0], remote[0])};
  HEARTH_TRY(abi::broadcast_to_group(intercomm, 0, first));
  Peers peers = first[0] != 0 ? local : remote;
  const Peers& second = first[0] != 0 ? remote : local;
  peers.insert(peers.end(), second.begin(), second.end());
  Group* group = nullptr;
  HEARTH_TRY(abi::make_group(std::move(peers), intercomm.group->session, group));
  return abi::make_intracomm(*intercomm.errhandler, std::move(owned), group, newintracomm);
}

}  // namespace hearth::mpi
