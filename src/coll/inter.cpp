#include "coll/inter.h"

#include <algorithm>

#include "coll/coll.h"
#include "coll/tree.h"
#include "datatype/reduce.h"
#include "mpi.h"

namespace hearth::coll::inter {
namespace {

constexpr int kLeader = 0;

bool leads(const Schedule& schedule) {
  return schedule.rank() == kLeader;
}

/// While it lives, the schedule's messages go to the other group.
class Across {
 public:
  explicit Across(Schedule& schedule) : schedule_(schedule) {
    schedule_.next_round();
    schedule_.face_other_group();
  }
  ~Across() {
    schedule_.next_round();
    schedule_.face_own_group();
  }
  Across(const Across&) = delete;
  Across& operator=(const Across&) = delete;

 private:
  Schedule& schedule_;
};

/// Calls meet(rank) for each rank of the other group, one per round. In round `sum`, two ranks meet if their
/// ranks add up to `sum`, modulo the number of rounds.
template <class Meet>
void meet_all(Schedule& schedule, Meet meet) {
  const Across across(schedule);
  const int rounds = std::max(schedule.size(), schedule.other_size());
  for (int sum = 0; sum < rounds; ++sum) {
    const int partner = (sum - schedule.rank() + rounds) % rounds;
    if (partner >= schedule.other_size()) continue;
    meet(partner);
    schedule.next_round();
  }
}

}  // namespace

Status check_buffer(const void* send) {
  if (send != MPI_IN_PLACE) return {};
  return fail(
      MPI_ERR_BUFFER,
      "MPI_IN_PLACE has no meaning on an intercommunicator (MPI 5.0 section 6.2.3): what a group gives, "
      "the other one gets. Remedy: a send buffer");
}

Status barrier(Schedule& schedule) {
  const Tree tree(schedule.rank(), schedule.size(), kLeader);
  for (int bit = 1; bit <= tree.top_bit(); bit *= 2) {
    if (tree.has_child(bit)) schedule.receive_signal(tree.child(bit));
  }
  if (leads(schedule)) {
    const Across across(schedule);
    schedule.receive_signal(kLeader);
    schedule.send_signal(kLeader);
  } else {
    schedule.next_round();
    schedule.send_signal(tree.parent());
    schedule.receive_signal(tree.parent());
    schedule.next_round();
  }
  for (int bit = tree.top_bit(); bit > 0; bit /= 2) {
    if (tree.has_child(bit)) schedule.send_signal(tree.child(bit));
  }
  return {};
}

Status bcast(Schedule& schedule, void* buffer, Count count, Type& type, int root) {
  if (root == MPI_PROC_NULL) return {};
  if (root == MPI_ROOT) {
    const Across across(schedule);
    schedule.send(buffer, count, type, kLeader);
    return {};
  }
  if (leads(schedule)) {
    const Across across(schedule);
    schedule.receive(buffer, count, type, root);
  }
  return coll::bcast_in_group(schedule, buffer, count, type, kLeader);
}

Status gather(Schedule& schedule, const OwnBlock& own, const RankBlocks& blocks, int root) {
  if (root == MPI_PROC_NULL) return {};
  const Across across(schedule);
  if (root != MPI_ROOT) {
    schedule.send(own.buffer, own.count, own.type, root);
    return {};
  }
  for (int rank = 0; rank < schedule.other_size(); ++rank) {
    schedule.receive(blocks.place(rank), blocks.count(rank), blocks.type(rank), rank);
  }
  return {};
}

Status scatter(Schedule& schedule, const RankBlocks& blocks, const OwnBlock& own, int root) {
  if (root == MPI_PROC_NULL) return {};
  const Across across(schedule);
  if (root != MPI_ROOT) {
    schedule.receive(own.buffer, own.count, own.type, root);
    return {};
  }
  for (int rank = 0; rank < schedule.other_size(); ++rank) {
    schedule.send(blocks.place(rank), blocks.count(rank), blocks.type(rank), rank);
  }
  return {};
}

Status alltoall(Schedule& schedule, const RankBlocks& out, const RankBlocks& in) {
  meet_all(schedule, [&](int rank) {
    schedule.receive(in.place(rank), in.count(rank), in.type(rank), rank);
    schedule.send(out.place(rank), out.count(rank), out.type(rank), rank);
  });
  return {};
}

Status allgather(Schedule& schedule, const OwnBlock& own, const RankBlocks& blocks) {
  meet_all(schedule, [&](int rank) {
    schedule.receive(blocks.place(rank), blocks.count(rank), blocks.type(rank), rank);
    schedule.send(own.buffer, own.count, own.type, rank);
  });
  return {};
}

Status reduce(Schedule& schedule, const void* send, void* receive, Count count, Type& type, Op& op,
              int root) {
  if (root == MPI_PROC_NULL) return {};
  HEARTH_TRY(datatype::check_reduction(op, type));
  if (root == MPI_ROOT) {
    const Across across(schedule);
    schedule.receive(receive, count, type, kLeader);
    return {};
  }
  std::byte* result = nullptr;
  if (leads(schedule)) HEARTH_TRY(schedule.scratch(type, count, result));
  HEARTH_TRY(coll::reduce_in_group(schedule, send, result, count, type, op, kLeader));
  if (leads(schedule)) {
    const Across across(schedule);
    schedule.send(result, count, type, root);
  }
  return {};
}

Status swap_reductions(Schedule& schedule, const void* send, void* result, Count count, Type& type, Op& op) {
  std::byte* own = nullptr;
  if (leads(schedule)) HEARTH_TRY(schedule.scratch(type, count, own));
  HEARTH_TRY(coll::reduce_in_group(schedule, send, own, count, type, op, kLeader));
  if (leads(schedule)) {
    const Across across(schedule);
    schedule.receive(result, count, type, kLeader);
    schedule.send(own, count, type, kLeader);
  }
  return {};
}

Status allreduce(Schedule& schedule, const void* send, void* receive, Count count, Type& type, Op& op) {
  HEARTH_TRY(swap_reductions(schedule, send, receive, count, type, op));
  return coll::bcast_in_group(schedule, receive, count, type, kLeader);
}

}  // namespace hearth::coll::inter
