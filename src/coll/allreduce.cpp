#include <utility>

#include "coll/coll.h"
#include "coll/flat_slots.h"
#include "coll/inter.h"
#include "coll/levels.h"
#include "coll/pipeline.h"
#include "coll/reduction_shape.h"
#include "coll/ring.h"
#include "coll/select.h"
#include "coll/tree_slots.h"
#include "datatype/reduce.h"
#include "mpi.h"

namespace hearth::coll {
namespace {

/// `input` may be equal to `receive`.
using AllreduceFunction = Status(Schedule& schedule, const void* input, void* receive, Count count,
                                 Type& type, Op& op);

/// Copies the input to the result, for algorithms that work in place.
void begin_in_place(Schedule& schedule, const void* input, void* receive, Count count, Type& type) {
  if (input != receive) schedule.copy(input, count, type, receive, count, type);
}

Status pipeline_whole(Schedule& schedule, const void* input, void* receive, Count count, Type& type, Op& op) {
  return reduce_through_pipeline(schedule, input, receive, type, op, [&](PipelineReduction& reduction) {
    return reduction.allreduce_whole(schedule, count);
  });
}

Status pipeline_shares(Schedule& schedule, const void* input, void* receive, Count count, Type& type,
                       Op& op) {
  return reduce_through_pipeline(schedule, input, receive, type, op, [&](PipelineReduction& reduction) {
    return reduction.allreduce_shares(schedule, count);
  });
}

Status flat(Schedule& schedule, const void* input, void* receive, Count count, Type& type, Op& op) {
  begin_in_place(schedule, input, receive, count, type);
  return add_flat_slots(schedule, [&](FlatSlots& slots) {
    slots.allreduce(MPI_IN_PLACE, receive, count, type, op);
    return slots.reserve(schedule, type, count);
  });
}

Status tree(Schedule& schedule, const void* input, void* receive, Count count, Type& type, Op& op) {
  return add_tree_slots(schedule,
                        [&](TreeSlots& slots) { slots.allreduce(input, receive, count, type, op); });
}

// Reduce on each machine, allreduce among the leaders, broadcast on each machine.
Status machines(Schedule& schedule, const void* input, void* receive, Count count, Type& type, Op& op) {
  Levels levels(schedule);
  if (levels.size() == 1) begin_in_place(schedule, input, receive, count, type);
  HEARTH_TRY(levels.on_machine(
      [&] { return reduce_in_group(schedule, input, receive, count, type, op, levels.leader()); }));
  HEARTH_TRY(
      levels.among_leaders([&] { return allreduce(schedule, MPI_IN_PLACE, receive, count, type, op); }));
  return levels.on_machine([&] { return bcast_in_group(schedule, receive, count, type, levels.leader()); });
}

/// The ranks that take part in recursive doubling. If there are r ranks more than a power of two, the even
/// ones of the first 2 r ranks send their elements to the next rank, which is odd, and receive the result
/// from it. So each participant stands for a run of consecutive ranks, and rank order is kept.
class Doubling {
 public:
  Doubling(int rank, int size) : rank_(rank) {
    while (players_ * 2 <= size) players_ *= 2;
    handing_over_ = size - players_;
  }

  int players() const { return players_; }
  bool hands_over() const { return rank_ < 2 * handing_over_ && rank_ % 2 == 0; }
  bool takes_over() const { return rank_ < 2 * handing_over_ && rank_ % 2 == 1; }
  /// The partner of this rank in the round of `bit`. Pre: this rank takes part.
  int partner(int bit) const {
    const int place = (rank_ < 2 * handing_over_ ? rank_ / 2 : rank_ - handing_over_) ^ bit;
    return place < handing_over_ ? 2 * place + 1 : place + handing_over_;
  }

 private:
  int rank_;
  int players_ = 1;  // the largest power of two that is <= the number of ranks
  int handing_over_ = 0;
};

// In each round two ranks exchange their partial results and compute the same: left op right, with the lower
// ranks on the left. So all ranks end with the same bits.
Status recursive_doubling(Schedule& schedule, const void* input, void* receive, Count count, Type& type,
                          Op& op) {
  begin_in_place(schedule, input, receive, count, type);
  const int rank = schedule.rank();
  const Doubling doubling(rank, schedule.size());
  if (doubling.hands_over()) {
    schedule.send(receive, count, type, rank + 1);
    schedule.next_round();
    schedule.receive(receive, count, type, rank + 1);
    return {};
  }
  std::byte* scratch;
  HEARTH_TRY(schedule.scratch(type, count, scratch));
  void* own = receive;
  void* incoming = scratch;
  if (doubling.takes_over()) {
    schedule.receive(incoming, count, type, rank - 1);
    schedule.next_round();
    schedule.reduce(op, type, incoming, own, count);
  }
  for (int bit = 1; bit < doubling.players(); bit *= 2) {
    const int partner = doubling.partner(bit);
    schedule.receive(incoming, count, type, partner);
    schedule.send(own, count, type, partner);
    schedule.next_round();
    if (partner < rank) {
      schedule.reduce(op, type, incoming, own, count);
    } else {
      schedule.reduce(op, type, own, incoming, count);
      std::swap(own, incoming);
    }
  }
  if (own != receive) schedule.copy(own, count, type, receive, count, type);
  if (doubling.takes_over()) schedule.send(receive, count, type, rank - 1);
  return {};
}

// Each rank reduces one share, then the shares go around the ring.
Status ring(Schedule& schedule, const void* input, void* receive, Count count, Type& type, Op& op) {
  begin_in_place(schedule, input, receive, count, type);
  const Shares shares(count, schedule.size());
  HEARTH_TRY(ring_reduce(schedule, receive, shares, type, op));
  go_around(
      schedule, ring_share(schedule, schedule.rank()),
      [&](int share) { return advance(receive, type, shares.begin(share)); },
      [&](int share) { return shares.count(share); }, type);
  return {};
}

// For large vectors and operations that do not commute.
Status reduce_bcast(Schedule& schedule, const void* input, void* receive, Count count, Type& type, Op& op) {
  begin_in_place(schedule, input, receive, count, type);
  HEARTH_TRY(reduce(schedule, schedule.rank() == 0 ? MPI_IN_PLACE : receive, receive, count, type, op, 0));
  schedule.next_round();
  return bcast(schedule, receive, count, type, 0);
}

#define HEARTH_ALLREDUCE(name, right, preferred) HEARTH_COLL_ROW(name, right, preferred),
constexpr Algorithm<AllreduceFunction> kAlgorithms[] = {
#include "coll/algorithms.def"
};

}  // namespace

Status allreduce(Schedule& schedule, const void* send, void* receive, Count count, Type& type, Op& op) {
  HEARTH_TRY(datatype::check_reduction(op, type));
  if (schedule.is_inter()) {
    HEARTH_TRY(inter::check_buffer(send));
    return inter::allreduce(schedule, send, receive, count, type, op);
  }
  const void* input = send == MPI_IN_PLACE ? receive : send;
  const Shape shape = reduction_shape(schedule, Collective::allreduce, count, type, op);
  if (shape.size == 1 || shape.bytes == 0) {
    begin_in_place(schedule, input, receive, count, type);
    return {};
  }
  return select(Collective::allreduce, kAlgorithms, shape)(schedule, input, receive, count, type, op);
}

}  // namespace hearth::coll
