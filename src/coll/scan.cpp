#include <utility>

#include "coll/blocks.h"
#include "coll/coll.h"
#include "coll/flat_slots.h"
#include "coll/levels.h"
#include "coll/pipeline.h"
#include "coll/reduction_shape.h"
#include "coll/select.h"
#include "datatype/reduce.h"
#include "mpi.h"

namespace hearth::coll {
namespace {

/// `input` is not MPI_IN_PLACE, but may be equal to `result`.
using ScanFunction = Status(Schedule& schedule, const void* input, void* result, bool inclusive, Count count,
                            Type& type, Op& op);

Status flat(Schedule& schedule, const void* input, void* result, bool inclusive, Count count, Type& type,
            Op& op) {
  return add_flat_slots(schedule, [&](FlatSlots& slots) {
    if (inclusive) {
      slots.scan(input, result, count, type, op);
    } else {
      slots.exscan(input, result, count, type, op);
    }
    return slots.reserve(schedule, type, count);
  });
}

Status pipeline_whole(Schedule& schedule, const void* input, void* result, bool inclusive, Count count,
                      Type& type, Op& op) {
  return reduce_through_pipeline(schedule, input, result, type, op, [&](PipelineReduction& reduction) {
    return reduction.scan_whole(schedule, count, inclusive);
  });
}

Status pipeline_chain(Schedule& schedule, const void* input, void* result, bool inclusive, Count count,
                      Type& type, Op& op) {
  return reduce_through_pipeline(schedule, input, result, type, op, [&](PipelineReduction& reduction) {
    return reduction.scan_chain(schedule, count, inclusive);
  });
}

// Scan on each machine; its last rank then has the reduction over the machine. An exclusive scan among these
// ranks gives the reduction over all machines before. It is broadcast on the machine and combined with the
// results, as the left operand.
Status machines(Schedule& schedule, const void* input, void* result, bool inclusive, Count count, Type& type,
                Op& op) {
  Levels levels(schedule, Levels::kLast);
  std::byte* before;
  HEARTH_TRY(schedule.scratch(type, count, before));
  const void* total = result;
  std::byte* last = nullptr;
  if (!inclusive && levels.leads()) {
    HEARTH_TRY(schedule.scratch(type, count, last));
    schedule.copy(input, count, type, last, count, type);
    total = last;
  }
  HEARTH_TRY(levels.on_machine_of_any_size([&] {
    return inclusive ? scan(schedule, input, result, count, type, op)
                     : exscan(schedule, input, result, count, type, op);
  }));
  if (last != nullptr && levels.place() > 0) {
    schedule.next_round();
    schedule.reduce(op, type, result, last, count);
  }
  HEARTH_TRY(levels.among_leaders([&] { return exscan(schedule, total, before, count, type, op); }));
  if (levels.own() == 0) return {};
  HEARTH_TRY(
      levels.on_machine([&] { return bcast_in_group(schedule, before, count, type, levels.leader()); }));
  schedule.next_round();
  if (!inclusive && levels.place() == 0) {
    schedule.copy(before, count, type, result, count, type);
  } else {
    schedule.reduce(op, type, before, result, count);
  }
  return {};
}

// Recursive doubling. After the round of `bit`, `partial` is the reduction over the rank's aligned run of
// 2*bit ranks, as far as they exist. `result` is the reduction over the ranks of that run before this rank,
// including this rank in an inclusive scan. A run on the left is always complete, so any number of ranks
// works.
Status doubling(Schedule& schedule, const void* input, void* result, bool inclusive, Count count, Type& type,
                Op& op) {
  const int rank = schedule.rank();
  std::byte* partial;
  std::byte* incoming;
  HEARTH_TRY(schedule.scratch(type, count, partial));
  HEARTH_TRY(schedule.scratch(type, count, incoming));
  schedule.copy(input, count, type, partial, count, type);
  bool has_result = inclusive;
  if (inclusive) schedule.copy(input, count, type, result, count, type);
  for (int bit = 1; bit < schedule.size(); bit *= 2) {
    const int partner = rank ^ bit;
    if (partner >= schedule.size()) continue;
    schedule.receive(incoming, count, type, partner);
    schedule.send(partial, count, type, partner);
    schedule.next_round();
    if (partner < rank) {
      if (has_result) {
        schedule.reduce(op, type, incoming, result, count);
      } else {
        schedule.copy(incoming, count, type, result, count, type);
        has_result = true;
      }
      schedule.reduce(op, type, incoming, partial, count);
    } else {
      schedule.reduce(op, type, partial, incoming, count);
      std::swap(partial, incoming);
    }
  }
  return {};
}

// Each rank receives the elements of all ranks before it and reduces them from the last to the first.
Status in_order(Schedule& schedule, const void* input, void* result, bool inclusive, Count count, Type& type,
                Op& op) {
  const int rank = schedule.rank();
  std::byte* before;
  HEARTH_TRY(schedule.scratch(type, saturated_product(count, rank), before));
  const auto elements_of = [&](int from) { return advance(before, type, count * from); };
  for (int distance = 1; distance < schedule.size(); ++distance) {
    if (distance <= rank) schedule.receive(elements_of(rank - distance), count, type, rank - distance);
    if (rank + distance < schedule.size()) schedule.send(input, count, type, rank + distance);
  }
  schedule.next_round();
  void* own = result;
  int next = rank - 1;
  if (inclusive) {
    if (input != result) schedule.copy(input, count, type, result, count, type);
  } else if (rank > 0) {
    own = elements_of(next--);
  }
  for (; next >= 0; --next) schedule.reduce(op, type, elements_of(next), own, count);
  if (own != result) schedule.copy(own, count, type, result, count, type);
  return {};
}

#define HEARTH_SCAN(name, right, preferred) HEARTH_COLL_ROW(name, right, preferred),
constexpr Algorithm<ScanFunction> kAlgorithms[] = {
#include "coll/algorithms.def"
};

Status scan_either(Schedule& schedule, const void* input, void* result, bool inclusive, Count count,
                   Type& type, Op& op) {
  if (schedule.is_inter()) {
    return fail(MPI_ERR_COMM,
                "the ranks of an intercommunicator have no order of their own, so there is no scan "
                "over them (MPI 5.0 section 6.11). Remedy: an intracommunicator (MPI_Intercomm_merge)");
  }
  HEARTH_TRY(datatype::check_reduction(op, type));
  const Shape shape = reduction_shape(schedule, Collective::scan, count, type, op);
  if (shape.bytes == 0) return {};
  if (input == MPI_IN_PLACE) input = result;
  return select(Collective::scan, kAlgorithms, shape)(schedule, input, result, inclusive, count, type, op);
}

}  // namespace

Status scan(Schedule& schedule, const void* send, void* receive, Count count, Type& type, Op& op) {
  return scan_either(schedule, send, receive, true, count, type, op);
}

Status exscan(Schedule& schedule, const void* send, void* receive, Count count, Type& type, Op& op) {
  return scan_either(schedule, send, receive, false, count, type, op);
}

}  // namespace hearth::coll
