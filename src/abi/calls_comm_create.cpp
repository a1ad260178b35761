// MPI 5.0 section 7.4.2: communicators from communicators. comm_making.h agrees on context ids.
//
// A local error is reported after the exchange with the other ranks, so that none of them hangs.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "abi/comm_making.h"
#include "abi/requests.h"
#include "base/attempt.h"
#include "base/contexts.h"
#include "coll/coll.h"
#include "hearth_calls.h"
#include "mpi.h"
#include "objects/lifetime.h"
#include "objects/pools.h"
#include "p2p/engine.h"

namespace hearth::mpi {
namespace {

using abi::Words;
using objects::Comm;
using objects::Group;
using objects::Info;
using objects::Peers;

/// Makes an intercommunicator; none if one of the groups is empty.
Status make_intercomm(const Comm& parent, uint32_t context, Peers local_peers, Peers remote_peers,
                      Comm*& comm) {
  if (local_peers.empty() || remote_peers.empty()) return {};
  Group* local = nullptr;
  Group* remote = nullptr;
  HEARTH_TRY(abi::make_group(std::move(local_peers), parent.group->session, local));
  const Status status = abi::make_group(std::move(remote_peers), parent.group->session, remote);
  if (!status.ok()) {
    objects::release(*local);
    return status;
  }
  return abi::make_intercomm(*parent.errhandler, context, local, remote, comm);
}

Status check_members(const Group& all, const Peers& peers) {
  for (size_t rank = 0; rank < peers.size(); ++rank) {
    if (all.rank_of(peers[rank]) == MPI_UNDEFINED) {
      return fail(MPI_ERR_GROUP,
                  "rank %zu of the group (rank %d of MPI_COMM_WORLD) is not in the communicator", rank,
                  peers[rank]);
    }
  }
  return {};
}

/// Makes a communicator like `comm`, without context ids.
Status copy_object(const Comm& comm, const Info* info, Comm*& made) {
  objects::retain(*comm.group);
  if (comm.is_inter()) {
    objects::retain(*comm.remote_group);
    HEARTH_TRY(abi::make_intercomm(*comm.errhandler, 0, comm.group, comm.remote_group, made));
  } else {
    HEARTH_TRY(abi::make_intracomm(*comm.errhandler, abi::OwnedAllocation(), comm.group, made));
  }
  made->topology = comm.topology;
  return abi::set_hints(*made, info);
}

/// Makes a duplicate and starts the agreement on its context ids. The duplicate must not be used before the
/// request completes.
Status start_duplicate(Comm& comm, const Info* info, Comm*& newcomm, p2p::Request*& request) {
  // Before the duplicate is made: fetching throws if there is no memory.
  const bool first_group = abi::is_first_group(comm);
  abi::OwnedAllocation owned(abi::fetch_allocation_for(comm));
  Comm* made = nullptr;
  Status status = attempt([&] { return copy_object(comm, info, made); });
  if (made == nullptr) {
    // The other ranks need this rank's part of the agreement.
    static_cast<void>(coll::run<abi::distribute_allocation>(comm, &owned.allocation(), first_group));
    return status;
  }
  static_cast<objects::ContextAllocation&>(*made) = owned.take();
  const Status started = coll::start<abi::distribute_duplicate>(comm, request, made, first_group);
  if (status.ok()) status = started;
  if (status.ok()) status = objects::copy_attributes(objects::holder_of(comm), objects::holder_of(*made));
  if (status.ok()) {
    newcomm = made;
    return {};
  }
  // The other ranks need this rank's part of the agreement.
  if (started.ok()) static_cast<void>(p2p::engine().wait(request));
  objects::release(*made);
  return status;
}

Status duplicate(Comm& comm, const Info* info, Comm*& newcomm) {
  p2p::Request* request = nullptr;
  Comm* made = nullptr;
  HEARTH_TRY(start_duplicate(comm, info, made, request));
  const Status status = p2p::engine().wait(request);
  if (status.ok()) {
    newcomm = made;
  } else {
    objects::release(*made);
  }
  return status;
}

}  // namespace

// The copies have no hints: since MPI 4.0 hints are not propagated (section 7.4.2).
Status comm_dup(Comm& comm, Comm*& newcomm) {
  return duplicate(comm, nullptr, newcomm);
}

Status comm_dup_with_info(Comm& comm, Info* info, Comm*& newcomm) {
  return duplicate(comm, info, newcomm);
}

Status comm_idup(Comm& comm, Comm*& newcomm, p2p::Request*& request) {
  return start_duplicate(comm, nullptr, newcomm, request);
}

Status comm_idup_with_info(Comm& comm, Info* info, Comm*& newcomm, p2p::Request*& request) {
  return start_duplicate(comm, info, newcomm, request);
}

Status comm_create(Comm& comm, Group& group, Comm*& newcomm) {
  if (!comm.is_inter()) {
    abi::OwnedAllocation owned;
    HEARTH_TRY(abi::agree_on_allocation(comm, owned));
    HEARTH_TRY(check_members(*comm.group, group.peers));
    if (group.rank == MPI_UNDEFINED) return {};
    return abi::make_intracomm(comm, std::move(owned), group.peers, newcomm);
  }
  Words names;
  Peers remote;
  abi::OwnedAllocation owned;
  HEARTH_TRY(abi::swap_between_groups(comm, abi::names_as_words(group.peers), names, false, owned));
  HEARTH_TRY(abi::peers_in(names, 0, remote));
  HEARTH_TRY(check_members(*comm.group, group.peers));
  HEARTH_TRY(check_members(*comm.remote_group, remote));
  if (group.rank == MPI_UNDEFINED) return {};
  return make_intercomm(comm, owned.take().context, group.peers, std::move(remote), newcomm);
}

// Only members of the group call; the tag separates concurrent calls of several threads.
Status comm_create_group(Comm& comm, Group& group, int tag, Comm*& newcomm) {
  if (comm.is_inter()) {
    return fail(MPI_ERR_COMM,
                "an intercommunicator: only intracommunicators can be asked. Remedy: MPI_Comm_create");
  }
  HEARTH_TRY(check_members(*comm.group, group.peers));
  if (group.rank == MPI_UNDEFINED) return {};
  abi::OwnedAllocation owned;
  HEARTH_TRY(abi::agree_on_allocation_among(group, comm, tag, owned));
  return abi::make_intracomm(comm, std::move(owned), group.peers, newcomm);
}

// Only members of the group call, and no communicator is needed (MPI 5.0 section 11.3.4).

namespace {

Status check_stringtag(const char* stringtag) {
  if (std::strlen(stringtag) <= MPI_MAX_STRINGTAG_LEN) return {};
  return fail(MPI_ERR_ARG, "the stringtag has %zu characters: it may have %d (MPI_MAX_STRINGTAG_LEN)",
              std::strlen(stringtag), MPI_MAX_STRINGTAG_LEN);
}

Status check_caller(const Group& group, const char* name) {
  if (abi::Bridges::has_foreign(group.peers)) {
    return fail(
        MPI_ERR_UNSUPPORTED_OPERATION,
        "%s has processes of several jobs, between which a communicator cannot be made without a parent. "
        "Remedy: MPI_Comm_create or MPI_Comm_create_group",
        name);
  }
  if (group.rank != MPI_UNDEFINED) return {};
  return fail(MPI_ERR_GROUP, "the calling process is not in %s", name);
}

}  // namespace

Status comm_create_from_group(Group& group, const char* stringtag, Info* info,
                              objects::Errhandler& errhandler, Comm*& newcomm) {
  HEARTH_TRY(check_stringtag(stringtag));
  if (group.size() == 0) return {};
  HEARTH_TRY(check_caller(group, "the group"));
  return abi::comm_from_group(group, stringtag, info, errhandler, newcomm);
}

Status intercomm_create_from_groups(Group& local_group, int local_leader, Group* remote_group,
                                    int remote_leader, const char* stringtag, Info* info,
                                    objects::Errhandler& errhandler, Comm*& newintercomm) {
  HEARTH_TRY(check_stringtag(stringtag));
  HEARTH_TRY(check_caller(local_group, "local_group"));
  return abi::intercomm_from_groups(local_group, local_leader, remote_group, remote_leader, stringtag, info,
                                    errhandler, newintercomm);
}

namespace {

// A rank's data in a split: color, key, and on rank 0 of an intracommunicator the context-id allocation.
constexpr size_t kWishWords = 4;

/// The processes of a group with this color, by key and then by rank.
Peers members_of(int color, const Words& wishes, const Group& group) {
  std::vector<std::pair<int, int>> members;  // key, rank
  for (int rank = 0; rank < group.size(); ++rank) {
    const int* wish = &wishes[kWishWords * static_cast<size_t>(rank)];
    if (wish[0] == color) members.emplace_back(wish[1], rank);
  }
  std::sort(members.begin(), members.end());
  Peers peers;
  for (const auto& [key, rank] : members) peers.push_back(group.peers[static_cast<size_t>(rank)]);
  return peers;
}

/// Gathers the data of the own group, and of the other group of an intercommunicator, and distributes the
/// allocation.
Status gather_wishes(Comm& comm, int color, int key, Words& wishes, Words& remote_wishes,
                     abi::OwnedAllocation& owned) try {
  wishes.resize(kWishWords * static_cast<size_t>(comm.size));
  int* own = &wishes[kWishWords * static_cast<size_t>(comm.rank)];
  own[0] = color;
  own[1] = key;
  if (!comm.is_inter() && comm.rank == 0) {
    owned = abi::OwnedAllocation(abi::fetch_allocation(comm.group->peers));
    own[2] = static_cast<int>(owned.allocation().context);
    own[3] = owned.allocation().region;
  }
  HEARTH_TRY(abi::run_in_group<coll::allgather>(comm, MPI_IN_PLACE, 0, abi::byte_type(), wishes.data(),
                                                Count{kWishWords * sizeof(int)}, abi::byte_type()));
  if (comm.is_inter()) return abi::swap_between_groups(comm, wishes, remote_wishes, false, owned);
  owned.allocation() = {.context = static_cast<uint32_t>(wishes[2]), .region = wishes[3]};
  return {};
} catch (const std::bad_alloc&) {
  coll::abandon(comm);
  throw;
}

}  // namespace

Status comm_split(Comm& comm, int color, int key, Comm*& newcomm) {
  Words wishes;
  Words remote_wishes;
  abi::OwnedAllocation owned;
  HEARTH_TRY(gather_wishes(comm, color, key, wishes, remote_wishes, owned));
  if (color == MPI_UNDEFINED) return {};
  if (color < 0) return fail(MPI_ERR_ARG, "color=%d: it must be 0 or more, or MPI_UNDEFINED", color);
  Peers local = members_of(color, wishes, *comm.group);
  if (!comm.is_inter()) {
    return abi::make_intracomm(comm, std::move(owned), std::move(local), newcomm);
  }
  return make_intercomm(comm, owned.take().context, std::move(local),
                        members_of(color, remote_wishes, *comm.remote_group), newcomm);
}

}  // namespace hearth::mpi
