// MPI 5.0 section 7.4.2: making communicators. All that it takes is a context number that everybody in the
// new communicator knows and nobody else on the machine uses; one process fetches it and tells the others.
// Parts of a split share a number, since no process is in two of them.
//
// Errors that one process finds are told after the others have had its messages, so that none of them hangs.
#include <algorithm>
#include <utility>
#include <vector>

#include "abi/handle.h"
#include "coll/coll.h"
#include "hearth_calls.h"
#include "mpi.h"
#include "objects/lifetime.h"
#include "objects/pools.h"
#include "p2p/engine.h"

namespace hearth::mpi {
namespace {

using objects::Comm;
using objects::Group;
using objects::Info;
using objects::Peers;

/// A communicator around a group, one reference on which it takes over. Without a name, attributes or hints.
Status make_comm(const Comm& parent, uint32_t context, Group* group, Comm*& comm) {
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
  comm->errhandler = parent.errhandler;
  objects::retain(*comm->errhandler);
  return {};
}

Status make_comm(const Comm& parent, uint32_t context, Peers peers, Comm*& comm) {
  Group* group = objects::pools.groups.create();
  if (group == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for another group");
  group->peers = std::move(peers);
  group->index(p2p::engine().self());
  return make_comm(parent, context, group, comm);
}

/// A new context, the same on all ranks of `comm`.
Status agree_on_context(Comm& comm, uint32_t& context) {
  if (comm.rank == 0) context = p2p::engine().new_context();
  return coll::run<coll::bcast>(comm, &context, Count{sizeof context}, coll::byte_type(), 0);
}

Status check_intra(const Comm& comm) {
  if (!comm.is_inter()) return {};
  return fail(MPI_ERR_COMM, "not possible on an intercommunicator in this version of Hearth");
}

Status check_members(const Comm& comm, const Group& group) {
  for (int rank = 0; rank < group.size(); ++rank) {
    const objects::PeerIndex peer = group.peers[static_cast<size_t>(rank)];
    if (comm.group->rank_of(peer) == MPI_UNDEFINED) {
      return fail(MPI_ERR_GROUP,
                  "rank %d of the group (rank %d of MPI_COMM_WORLD) is not in the communicator", rank, peer);
    }
  }
  return {};
}

Status duplicate(Comm& comm, const Info* info, Comm*& newcomm) {
  HEARTH_TRY(check_intra(comm));
  uint32_t context = 0;
  HEARTH_TRY(agree_on_context(comm, context));
  Comm* made = nullptr;
  objects::retain(*comm.group);
  HEARTH_TRY(make_comm(comm, context, comm.group, made));
  Status status;
  if (info != nullptr) {
    made->info = objects::pools.infos.create();
    if (made->info == nullptr) {
      status = fail(MPI_ERR_NO_MEM, "no memory for the communicator's hints");
    } else {
      made->info->entries = info->entries;
    }
  }
  if (status.ok()) status = objects::copy_attributes(objects::holder_of(comm), objects::holder_of(*made));
  if (!status.ok()) {
    objects::release(*made);
    return status;
  }
  newcomm = made;
  return {};
}

}  // namespace

Status comm_dup(Comm& comm, Comm*& newcomm) {
  return duplicate(comm, comm.info, newcomm);
}

Status comm_dup_with_info(Comm& comm, Info* info, Comm*& newcomm) {
  return duplicate(comm, info, newcomm);
}

Status comm_create(Comm& comm, Group& group, Comm*& newcomm) {
  HEARTH_TRY(check_intra(comm));
  uint32_t context = 0;
  HEARTH_TRY(agree_on_context(comm, context));
  HEARTH_TRY(check_members(comm, group));
  if (group.rank == MPI_UNDEFINED) return {};
  return make_comm(comm, context, group.peers, newcomm);
}

// Only the group's processes call; the tag tells apart calls of several threads.
Status comm_create_group(Comm& comm, Group& group, int tag, Comm*& newcomm) {
  HEARTH_TRY(check_intra(comm));
  HEARTH_TRY(check_members(comm, group));
  if (group.rank == MPI_UNDEFINED) return {};
  uint32_t context = group.rank == 0 ? p2p::engine().new_context() : 0;
  coll::Schedule schedule(group, comm, tag);
  HEARTH_TRY(coll::bcast(schedule, &context, sizeof context, coll::byte_type(), 0));
  HEARTH_TRY(schedule.finish());
  return make_comm(comm, context, group.peers, newcomm);
}

Status comm_split(Comm& comm, int color, int key, Comm*& newcomm) {
  HEARTH_TRY(check_intra(comm));
  struct Wish {
    int color;
    int key;
    uint32_t context;  // fetched by rank 0
  };
  std::vector<Wish> wishes(static_cast<size_t>(comm.size));
  wishes[static_cast<size_t>(comm.rank)] = {color, key, comm.rank == 0 ? p2p::engine().new_context() : 0};
  HEARTH_TRY(coll::run<coll::allgather>(comm, MPI_IN_PLACE, 0, coll::byte_type(), wishes.data(),
                                        Count{sizeof(Wish)}, coll::byte_type()));
  if (color == MPI_UNDEFINED) return {};
  if (color < 0) return fail(MPI_ERR_ARG, "color=%d: it must be 0 or more, or MPI_UNDEFINED", color);
  std::vector<std::pair<int, int>> members;  // key, rank in comm
  for (int rank = 0; rank < comm.size; ++rank) {
    const Wish& wish = wishes[static_cast<size_t>(rank)];
    if (wish.color == color) members.emplace_back(wish.key, rank);
  }
  std::sort(members.begin(), members.end());
  Peers peers;
  for (const auto& [its_key, rank] : members) peers.push_back(comm.peers[rank]);
  return make_comm(comm, wishes[0].context, std::move(peers), newcomm);
}

Status comm_split_type(Comm& comm, int split_type, int key, Info* info, Comm*& newcomm) {
  constexpr int kNobody = MPI_UNDEFINED;
  constexpr int kEverybody = 0;
  int color = kNobody;
  Status status;
  switch (split_type) {
    case MPI_UNDEFINED:
      break;
    // All ranks run on one machine.
    case MPI_COMM_TYPE_SHARED:
      color = kEverybody;
      break;
    // By a resource that the info names. Shared memory is the one known here; others give MPI_COMM_NULL, as
    // does a division into smaller parts than the machine (MPI 5.0 section 7.4.2).
    case MPI_COMM_TYPE_HW_GUIDED:
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
      if (info != nullptr) {
        const bool shared = std::any_of(info->entries.begin(), info->entries.end(), [](const auto& entry) {
          return entry.first == "mpi_hw_resource_type" && entry.second == "mpi_shared_memory";
        });
        if (shared) color = kEverybody;
      }
      break;
    case MPI_COMM_TYPE_HW_UNGUIDED:
      break;
    default:
      status = fail(MPI_ERR_ARG,
                    "split_type=%d is none of MPI_COMM_TYPE_SHARED, _HW_GUIDED, _HW_UNGUIDED, "
                    "_RESOURCE_GUIDED, MPI_UNDEFINED",
                    split_type);
  }
  HEARTH_TRY(comm_split(comm, color, key, newcomm));
  return status;
}

}  // namespace hearth::mpi
