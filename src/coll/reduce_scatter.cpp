#include "coll/blocks.h"
#include "coll/coll.h"
#include "coll/flat_slots.h"
#include "coll/inter.h"
#include "coll/levels.h"
#include "coll/pipeline.h"
#include "coll/reduction_shape.h"
#include "coll/select.h"
#include "datatype/reduce.h"
#include "mpi.h"

namespace hearth::coll {
namespace {

/// The begin and the length of each rank's block, in elements.
class Blocks {
 public:
  /// Blocks of `counts[rank]`.
  Status read(Schedule& schedule, CountArray counts) {
    const int ranks = schedule.size();
    std::byte* memory;
    HEARTH_TRY(schedule.scratch((ranks + 1) * static_cast<int64_t>(sizeof(Count)), memory));
    begins_ = reinterpret_cast<Count*>(memory);
    begins_[0] = 0;
    for (int rank = 0; rank < ranks; ++rank) begins_[rank + 1] = begins_[rank] + counts[rank];
    total_ = begins_[ranks];
    return {};
  }
  /// Blocks of equal length.
  void read(const Schedule& schedule, Count each) {
    each_ = each;
    total_ = each * schedule.size();
  }

  Count begin(int rank) const { return begins_ != nullptr ? begins_[rank] : each_ * rank; }
  Count count(int rank) const { return begins_ != nullptr ? begins_[rank + 1] - begins_[rank] : each_; }
  Count total() const { return total_; }
  /// The length of blocks of equal length; for others begins() has the begin of each block and the end of the
  /// last one.
  Count each() const { return each_; }
  const Count* begins() const { return begins_; }
  bool equal() const { return begins_ == nullptr; }

 private:
  Count* begins_ = nullptr;
  Count each_ = 0;
  Count total_ = 0;
};

/// `input` is never MPI_IN_PLACE, but may be equal to `receive`.
using ReduceScatterFunction = Status(Schedule& schedule, const void* input, void* receive,
                                     const Blocks& blocks, Type& type, Op& op);

/// Blocks of equal length only.
Status flat(Schedule& schedule, const void* input, void* receive, const Blocks& blocks, Type& type, Op& op) {
  const Count each = blocks.count(0);
  return add_flat_slots(schedule, [&](FlatSlots& slots) {
    slots.reduce_scatter_block(input, receive, each, type, op);
    return slots.reserve(schedule, type, each);
  });
}

Status pipeline(Schedule& schedule, const void* input, void* receive, const Blocks& blocks, Type& type,
                Op& op) {
  return reduce_through_pipeline(schedule, input, receive, type, op, [&](PipelineReduction& reduction) {
    return reduction.reduce_scatter(schedule, blocks.begins(), blocks.each());
  });
}

// Reduce of the vector on each machine, reduce_scatter among the leaders with one block per machine, scatter
// on each machine. The leaders order the blocks machine after machine.
Status machines(Schedule& schedule, const void* input, void* receive, const Blocks& blocks, Type& type,
                Op& op) {
  Levels levels(schedule);
  const objects::Machines& where = levels.machines();
  const int rank = schedule.rank();
  std::byte* vector = nullptr;
  std::byte* ordered = nullptr;
  std::byte* result = nullptr;
  PackedBlocks all;  // in elements
  HEARTH_TRY(all.lay_out(schedule, where, [&](int of) { return blocks.count(of); }));
  if (levels.leads()) {
    HEARTH_TRY(schedule.scratch(type, blocks.total(), vector));
    HEARTH_TRY(schedule.scratch(type, all.machine_length(where.own), result));
    ordered = vector;
    if (!where.in_order) HEARTH_TRY(schedule.scratch(type, blocks.total(), ordered));
  }
  HEARTH_TRY(levels.on_machine_of_any_size(
      [&] { return reduce_in_group(schedule, input, vector, blocks.total(), type, op, levels.leader()); }));
  HEARTH_TRY(levels.among_leaders([&] {
    for (int at = 0; at < static_cast<int>(where.ranks.size()) && !where.in_order; ++at) {
      const int of = where.ranks[static_cast<size_t>(at)];
      schedule.copy(advance(vector, type, blocks.begin(of)), blocks.count(of), type,
                    advance(ordered, type, all.begin(at)), blocks.count(of), type);
    }
    return reduce_scatter(schedule, ordered, result, all.machine_lengths(), type, op);
  }));
  return levels.on_machine_of_any_size([&] {
    const Count own_count = blocks.count(rank);
    if (blocks.equal()) {
      return scatter(schedule, result, own_count, type, receive, own_count, type, levels.leader());
    }
    const std::byte* base = levels.leads() ? advance(result, type, -all.machine_begin(where.own)) : nullptr;
    const int first = where.begin(where.own);
    return scatterv(schedule, base, all.lengths(first), all.begins(first), type, receive, own_count, type,
                    levels.leader());
  });
}

// Each rank receives its block from every other rank and reduces each one as it arrives.
Status pairwise(Schedule& schedule, const void* input, void* receive, const Blocks& blocks, Type& type,
                Op& op) {
  const int own = schedule.rank();
  const Count own_count = blocks.count(own);
  std::byte* result;
  std::byte* incoming;
  HEARTH_TRY(schedule.scratch(type, own_count, result));
  HEARTH_TRY(schedule.scratch(type, own_count, incoming));
  schedule.copy(advance(input, type, blocks.begin(own)), own_count, type, result, own_count, type);
  for (int distance = 1; distance < schedule.size(); ++distance) {
    const int to = schedule.neighbor(distance);
    schedule.receive(incoming, own_count, type, schedule.neighbor(-distance));
    schedule.send(advance(input, type, blocks.begin(to)), blocks.count(to), type, to);
    schedule.next_round();
    schedule.reduce(op, type, incoming, result, own_count);
  }
  schedule.copy(result, own_count, type, receive, own_count, type);
  return {};
}

// The same, but the blocks of all ranks are stored and reduced from the last rank to the first. All messages
// are in flight together, so that a rank that shares its processor is not woken for each.
Status in_order(Schedule& schedule, const void* input, void* receive, const Blocks& blocks, Type& type,
                Op& op) {
  const int own = schedule.rank();
  const int size = schedule.size();
  const Count own_count = blocks.count(own);
  std::byte* all;
  HEARTH_TRY(schedule.scratch(type, saturated_product(own_count, size), all));
  const auto share_of = [&](int rank) { return advance(all, type, own_count * rank); };
  schedule.copy(advance(input, type, blocks.begin(own)), own_count, type, share_of(own), own_count, type);
  for (int distance = 1; distance < size; ++distance) {
    const int to = schedule.neighbor(distance);
    const int from = schedule.neighbor(-distance);
    schedule.receive(share_of(from), own_count, type, from);
    schedule.send(advance(input, type, blocks.begin(to)), blocks.count(to), type, to);
  }
  schedule.next_round();
  for (int rank = size - 1; rank-- > 0;) {
    schedule.reduce(op, type, share_of(rank), share_of(size - 1), own_count);
  }
  schedule.copy(share_of(size - 1), own_count, type, receive, own_count, type);
  return {};
}

#define HEARTH_REDUCE_SCATTER(name, right, preferred) HEARTH_COLL_ROW(name, right, preferred),
constexpr Algorithm<ReduceScatterFunction> kAlgorithms[] = {
#include "coll/algorithms.def"
};

// Each leader has the result of the other group and sends each rank of its own group its block.
Status between_groups(Schedule& schedule, const void* send, void* receive, const Blocks& blocks, Type& type,
                      Op& op) {
  HEARTH_TRY(inter::check_buffer(send));
  const bool leads = schedule.rank() == 0;
  std::byte* result = nullptr;
  if (leads) HEARTH_TRY(schedule.scratch(type, blocks.total(), result));
  HEARTH_TRY(inter::swap_reductions(schedule, send, result, blocks.total(), type, op));
  schedule.next_round();
  if (!leads) {
    schedule.receive(receive, blocks.count(schedule.rank()), type, 0);
    return {};
  }
  schedule.copy(result, blocks.count(0), type, receive, blocks.count(0), type);
  for (int rank = 1; rank < schedule.size(); ++rank) {
    schedule.send(advance(result, type, blocks.begin(rank)), blocks.count(rank), type, rank);
  }
  return {};
}

Status reduce_blocks(Schedule& schedule, const void* send, void* receive, const Blocks& blocks, Type& type,
                     Op& op) {
  HEARTH_TRY(datatype::check_reduction(op, type));
  if (schedule.is_inter()) return between_groups(schedule, send, receive, blocks, type, op);
  const void* input = send == MPI_IN_PLACE ? receive : send;
  Shape shape = reduction_shape(schedule, Collective::reduce_scatter, blocks.total(), type, op);
  shape.flat = shape.flat && blocks.equal();
  if (shape.bytes == 0) return {};
  return select(Collective::reduce_scatter, kAlgorithms, shape)(schedule, input, receive, blocks, type, op);
}

}  // namespace

Status reduce_scatter(Schedule& schedule, const void* send, void* receive, CountArray receive_counts,
                      Type& type, Op& op) {
  Blocks blocks;
  HEARTH_TRY(blocks.read(schedule, receive_counts));
  return reduce_blocks(schedule, send, receive, blocks, type, op);
}

Status reduce_scatter_block(Schedule& schedule, const void* send, void* receive, Count receive_count,
                            Type& type, Op& op) {
  Blocks blocks;
  blocks.read(schedule, receive_count);
  return reduce_blocks(schedule, send, receive, blocks, type, op);
}

}  // namespace hearth::coll
