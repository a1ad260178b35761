#include "coll/flat_call.h"

#include <type_traits>

#include "base/contexts.h"
#include "coll/coll.h"
#include "coll/flat_slots.h"
#include "coll/tree_slots.h"
#include "p2p/engine.h"

namespace hearth::coll {

namespace {

/// What the collectives without hierarchical slots call.
template <class Slots>
concept Flat = !std::is_same_v<Slots, TreeSlots>;

template <class Begin>
[[gnu::noinline]] bool run_in_tree(CollectiveRegion* region, uint32_t context, Collective collective,
                                   int64_t bytes, Status& outcome, const Begin& begin) {
  if (!fits_tree(region, collective, bytes)) return false;
  TreeSlots slots(*region);
  begin(slots);
  slots.begin();
  slots.run(context);
  outcome = slots.outcome;
  return true;
}

/// Completes a collective; `progress` is that of a FlatCall, or that of a collective that begins.
template <class Begin>
[[gnu::noinline]] Status run_in_slots(CollectiveRegion& region, uint32_t context,
                                      const FlatProgress& progress, const Begin& begin) {
  FlatSlots::Room room;  // not cleared, which would take longer than most collectives
  FlatSlots slots(region, &room);
  begin(slots);
  slots.resume(progress);
  slots.run(context);
  return slots.outcome;
}

/// `begin(slots)` calls the collective's function of a FlatCall, a FlatSlots or a TreeSlots. Its captures are
/// values, and copied for the calls that are not inlined, so that no argument of a FlatCall passes through
/// memory.
template <class Begin>
[[gnu::always_inline, gnu::flatten]] inline bool run_fast(Comm& comm, Collective collective, int64_t bytes,
                                                          Status& outcome, const Begin& begin) {
  CollectiveRegion* region = CollectiveRegion::of(comm);
  const uint32_t context = comm.context + kCollectiveContext;
  if (!fits_flat_slots(region, collective, bytes)) {
    if constexpr (std::is_invocable_v<Begin, TreeSlots&>) {
      const Begin copy = begin;
      return run_in_tree(region, context, collective, bytes, outcome, copy);
    }
    return false;
  }
  FlatProgress progress;
  if (FlatCall::fits(bytes)) [[likely]] {
    FlatCall call(*region, collective, p2p::engine().spins() ? FlatCall::kRounds : 1);
    if (begin(call)) [[likely]] {
      outcome = call.outcome();
      return true;
    }
    progress = call.progress();
  } else {
    progress = {region->next_number(), false, {}};
  }
  const Begin copy = begin;
  outcome = run_in_slots(*region, context, progress, copy);
  return true;
}

/// False for invalid calls, whose error the schedule reports, and for calls without data, which need no other
/// rank.
bool folds(const Type& type, const Op& op, Count count) {
  return type.contiguous && count * type.size != 0 && datatype::check_reduction(op, type).ok();
}

}  // namespace

bool FastPath<barrier>::run(Comm& comm, Status& outcome) {
  return run_fast(comm, Collective::barrier, 0, outcome, [](auto& slots) { return slots.barrier(); });
}

bool FastPath<bcast>::run(Comm& comm, Status& outcome, void* buffer, Count count, Type& type, int root) {
  const int64_t bytes = count * type.size;
  return bytes != 0 && run_fast(comm, Collective::bcast, bytes, outcome,
                                [=, &type](auto& slots) { return slots.bcast(buffer, count, type, root); });
}

bool FastPath<gather>::run(Comm& comm, Status& outcome, const void* send, Count send_count, Type& send_type,
                           void* receive, Count receive_count, Type& receive_type, int root) {
  const int64_t bytes = comm.rank == root ? receive_count * receive_type.size : send_count * send_type.size;
  return bytes != 0 &&
         run_fast(comm, Collective::gather, bytes, outcome, [=, &send_type, &receive_type](Flat auto& slots) {
           return slots.gather(send, send_count, send_type, receive, receive_count, receive_type, root);
         });
}

bool FastPath<scatter>::run(Comm& comm, Status& outcome, const void* send, Count send_count, Type& send_type,
                            void* receive, Count receive_count, Type& receive_type, int root) {
  const int64_t bytes = comm.rank == root ? send_count * send_type.size : receive_count * receive_type.size;
  return bytes != 0 && run_fast(comm, Collective::scatter, saturated_product(comm.size, bytes), outcome,
                                [=, &send_type, &receive_type](Flat auto& slots) {
                                  return slots.scatter(send, send_count, send_type, receive, receive_count,
                                                       receive_type, root);
                                });
}

bool FastPath<allgather>::run(Comm& comm, Status& outcome, const void* send, Count send_count,
                              Type& send_type, void* receive, Count receive_count, Type& receive_type) {
  const int64_t bytes = receive_count * receive_type.size;
  return bytes != 0 &&
         run_fast(comm, Collective::allgather, bytes, outcome, [=, &send_type, &receive_type](auto& slots) {
           return slots.allgather(send, send_count, send_type, receive, receive_count, receive_type);
         });
}

bool FastPath<alltoall>::run(Comm& comm, Status& outcome, const void* send, Count send_count, Type& send_type,
                             void* receive, Count receive_count, Type& receive_type) {
  const int64_t bytes = receive_count * receive_type.size;
  return bytes != 0 &&
         run_fast(comm, Collective::alltoall, saturated_product(comm.size, bytes), outcome,
                  [=, &send_type, &receive_type](Flat auto& slots) {
                    return slots.alltoall(send, send_count, send_type, receive, receive_count, receive_type);
                  });
}

bool FastPath<reduce>::run(Comm& comm, Status& outcome, const void* send, void* receive, Count count,
                           Type& type, Op& op, int root) {
  return folds(type, op, count) &&
         run_fast(comm, Collective::reduce, count * type.size, outcome, [=, &type, &op](auto& slots) {
           return slots.reduce(send, receive, count, type, op, root);
         });
}

bool FastPath<allreduce>::run(Comm& comm, Status& outcome, const void* send, void* receive, Count count,
                              Type& type, Op& op) {
  return folds(type, op, count) &&
         run_fast(comm, Collective::allreduce, count * type.size, outcome,
                  [=, &type, &op](auto& slots) { return slots.allreduce(send, receive, count, type, op); });
}

bool FastPath<reduce_scatter_block>::run(Comm& comm, Status& outcome, const void* send, void* receive,
                                         Count count, Type& type, Op& op) {
  return folds(type, op, count) &&
         run_fast(comm, Collective::reduce_scatter, saturated_product(comm.size, count * type.size), outcome,
                  [=, &type, &op](Flat auto& slots) {
                    return slots.reduce_scatter_block(send, receive, count, type, op);
                  });
}

bool FastPath<scan>::run(Comm& comm, Status& outcome, const void* send, void* receive, Count count,
                         Type& type, Op& op) {
  return folds(type, op, count) &&
         run_fast(comm, Collective::scan, count * type.size, outcome,
                  [=, &type, &op](Flat auto& slots) { return slots.scan(send, receive, count, type, op); });
}

bool FastPath<exscan>::run(Comm& comm, Status& outcome, const void* send, void* receive, Count count,
                           Type& type, Op& op) {
  return folds(type, op, count) &&
         run_fast(comm, Collective::scan, count * type.size, outcome,
                  [=, &type, &op](Flat auto& slots) { return slots.exscan(send, receive, count, type, op); });
}

}  // namespace hearth::coll
