#include <utility>

#include "coll/coll.h"
#include "coll/flat_slots.h"
#include "coll/inter.h"
#include "coll/levels.h"
#include "coll/pipeline.h"
#include "coll/reduction_shape.h"
#include "coll/ring.h"
#include "coll/select.h"
#include "coll/tree.h"
#include "coll/tree_slots.h"
#include "datatype/reduce.h"
#include "mpi.h"

namespace hearth::coll {
namespace {

/// `input` is never MPI_IN_PLACE; on the root it may be equal to `receive`.
using ReduceFunction = Status(Schedule& schedule, const void* input, void* receive, Count count, Type& type,
                              Op& op, int root);

Status flat(Schedule& schedule, const void* input, void* receive, Count count, Type& type, Op& op, int root) {
  return add_flat_slots(schedule, [&](FlatSlots& slots) {
    slots.reduce(input, receive, count, type, op, root);
    return slots.reserve(schedule, type, count);
  });
}

Status tree(Schedule& schedule, const void* input, void* receive, Count count, Type& type, Op& op, int root) {
  return add_tree_slots(schedule,
                        [&](TreeSlots& slots) { slots.reduce(input, receive, count, type, op, root); });
}

Status pipeline(Schedule& schedule, const void* input, void* receive, Count count, Type& type, Op& op,
                int root) {
  return reduce_through_pipeline(schedule, input, receive, type, op, [&](PipelineReduction& reduction) {
    return reduction.reduce(schedule, count, root);
  });
}

// Reduce on each machine, then among the leaders. Rank order is kept if each machine has consecutive ranks.
Status machines(Schedule& schedule, const void* input, void* receive, Count count, Type& type, Op& op,
                int root) {
  Levels levels(schedule, root);
  const void* own = input;
  if (levels.size() > 1) {
    void* partial = receive;
    if (levels.leads() && schedule.rank() != root) {
      std::byte* memory;
      HEARTH_TRY(schedule.scratch(type, count, memory));
      partial = memory;
    }
    HEARTH_TRY(levels.on_machine(
        [&] { return reduce_in_group(schedule, input, partial, count, type, op, levels.leader()); }));
    own = partial;
  }
  return levels.among_leaders(
      [&] { return reduce_in_group(schedule, own, receive, count, type, op, levels.root_machine()); });
}

// Up a binomial tree, whose subtrees are consecutive ranks, so rank order is kept. If the order matters, the
// root of the tree is rank 0, which sends the result on to the root.
Status binomial(Schedule& schedule, const void* input, void* receive, Count count, Type& type, Op& op,
                int root) {
  const int top = op.commutative ? root : 0;
  const bool at_root = schedule.rank() == root;
  const Tree ranks(schedule.rank(), schedule.size(), top);
  const void* own = input;
  if (!ranks.is_leaf()) {
    // The result of a step is in the buffer of its right operand, so two buffers alternate.
    std::byte* incoming;
    std::byte* spare;
    HEARTH_TRY(schedule.scratch(type, count, incoming));
    HEARTH_TRY(schedule.scratch(type, count, spare));
    for (int bit = 1; bit <= ranks.top_bit(); bit *= 2) {
      if (!ranks.has_child(bit)) break;
      schedule.receive(incoming, count, type, ranks.child(bit));
      schedule.next_round();
      schedule.reduce(op, type, own, incoming, count);
      own = incoming;
      std::swap(incoming, spare);
    }
  }
  if (!ranks.is_root()) {
    schedule.send(own, count, type, ranks.parent());
  } else if (at_root) {
    schedule.copy(own, count, type, receive, count, type);
  } else {
    schedule.send(own, count, type, root);
  }
  if (at_root && top != root) {
    schedule.next_round();  // in place, `receive` has just been sent
    schedule.receive(receive, count, type, top);
  }
  return {};
}

// Large vectors: each rank reduces one share, and the root collects the shares.
Status ring_gather(Schedule& schedule, const void* input, void* receive, Count count, Type& type, Op& op,
                   int root) {
  const bool at_root = schedule.rank() == root;
  auto* vector = static_cast<std::byte*>(receive);
  if (!at_root) HEARTH_TRY(schedule.scratch(type, count, vector));
  schedule.copy(input, count, type, vector, count, type);
  const Shares shares(count, schedule.size());
  HEARTH_TRY(ring_reduce(schedule, vector, shares, type, op));
  for (int rank = 0; rank < schedule.size(); ++rank) {
    const int share = ring_share(schedule, rank);
    std::byte* place = advance(vector, type, shares.begin(share));
    if (at_root && rank != root) schedule.receive(place, shares.count(share), type, rank);
    if (!at_root && rank == schedule.rank()) schedule.send(place, shares.count(share), type, root);
  }
  return {};
}

// From the last rank to the first, x[0] op (x[1] op (... op x[n - 1])), then to the root.
Status in_order(Schedule& schedule, const void* input, void* receive, Count count, Type& type, Op& op,
                int root) {
  const int rank = schedule.rank();
  const bool at_root = rank == root;
  const void* own = input;
  if (rank < schedule.size() - 1) {
    std::byte* incoming;
    HEARTH_TRY(schedule.scratch(type, count, incoming));
    schedule.receive(incoming, count, type, rank + 1);
    schedule.next_round();
    schedule.reduce(op, type, input, incoming, count);
    own = incoming;
  }
  if (rank > 0) {
    schedule.send(own, count, type, rank - 1);
  } else if (at_root) {
    schedule.copy(own, count, type, receive, count, type);
  } else {
    schedule.send(own, count, type, root);
  }
  if (at_root && rank > 0) {
    schedule.next_round();  // in place, `receive` may have just been sent
    schedule.receive(receive, count, type, 0);
  }
  return {};
}

#define HEARTH_REDUCE(name, right, preferred) HEARTH_COLL_ROW(name, right, preferred),
constexpr Algorithm<ReduceFunction> kAlgorithms[] = {
#include "coll/algorithms.def"
};

}  // namespace

Status reduce(Schedule& schedule, const void* send, void* receive, Count count, Type& type, Op& op,
              int root) {
  if (schedule.is_inter()) return inter::reduce(schedule, send, receive, count, type, op, root);
  HEARTH_TRY(datatype::check_reduction(op, type));
  const void* input = send == MPI_IN_PLACE ? receive : send;
  return reduce_in_group(schedule, input, receive, count, type, op, root);
}

Status reduce_in_group(Schedule& schedule, const void* input, void* receive, Count count, Type& type, Op& op,
                       int root) {
  const Shape shape = reduction_shape(schedule, Collective::reduce, count, type, op);
  if (shape.bytes == 0) return {};
  if (shape.size == 1) {
    schedule.copy(input, count, type, receive, count, type);
    return {};
  }
  return select(Collective::reduce, kAlgorithms, shape)(schedule, input, receive, count, type, op, root);
}

}  // namespace hearth::coll
