#include "coll/access_counters.h"
#include "coll/pipeline.h"
#include "datatype/reduce.h"

namespace hearth::coll {

bool PipelineReduction::fits(const Schedule& schedule, const Type& type) {
  return has_pipeline(schedule) && type.size <= kElementBytesMax;
}

/// Cuts the vector into stages with a piece for each of `parts` ranks.
void PipelineReduction::cut(Count count, int parts) {
  const int64_t bytes_each = (count + parts - 1) / parts * type_.size;
  const int64_t bytes = std::min(pipeline_piece_bytes(bytes_each), ring().stage_bytes_max() / 2 / parts);
  count_ = count;
  stage_count_ = std::max<Count>(bytes / type_.size, 1) * parts;
  set_stages((count + stage_count_ - 1) / stage_count_, std::min(count, stage_count_) * type_.size);
}

Status PipelineReduction::reserve_operands(Schedule& schedule, int operands, Count count) {
  if (!type_.contiguous) return schedule.scratch(type_, count, unpacked_);
  std::byte* memory;
  HEARTH_TRY(schedule.scratch(operands * static_cast<int64_t>(sizeof(void*)), memory));
  operands_ = reinterpret_cast<const void**>(memory);
  return {};
}

Status PipelineReduction::reserve(Schedule& schedule, Count count, bool needs_result) {
  HEARTH_TRY(reserve_operands(schedule, size(), count));
  // If the operation is the user's or elements have gaps, the result buffer first receives the last rank's
  // operand. In place this would overwrite the own operand, unless that is the last one. Blocks have a result
  // buffer of their own.
  const bool in_place = input_ == receive_ && kind_ != Kind::blocks && rank() != size() - 1 &&
                        (op_.kind == objects::OpKind::user || !type_.contiguous);
  return needs_result || in_place ? schedule.scratch(type_, count, result_) : Status();
}

// Exposes the input if its elements are contiguous, so that it is equal to its packed form.
void PipelineReduction::offer_input(Count count) {
  if (type_.contiguous) offer(element(input_, 0) + type_.true_lower_bound, count * type_.size);
}

Status PipelineReduction::allreduce_whole(Schedule& schedule, Count count) {
  set_kind(Collective::allreduce, count * type_.size);
  kind_ = Kind::whole;
  // In place, results overwrite data that other ranks still read.
  if (input_ != receive_) offer_input(count);
  cut(count, 1);
  return reserve(schedule, stage_count_, false);
}

Status PipelineReduction::allreduce_shares(Schedule& schedule, Count count) {
  set_kind(Collective::allreduce, count * type_.size);
  kind_ = Kind::shares;
  set_part({.shares = true});
  // Exposed also in place: only this rank reads its own share of the input, before its result replaces it.
  offer_input(count);
  cut(count, size());
  return reserve(schedule, stage_count_ / size(), false);
}

Status PipelineReduction::reduce(Schedule& schedule, Count count, int root) {
  set_kind(Collective::reduce, count * type_.size);
  const bool at_root = rank() == root;
  root_ = root;
  // Of two ranks, the root reduces the whole vector, so that no data go back and forth.
  if (size() == 2) {
    kind_ = Kind::at_root;
    set_part({.puts = !at_root, .takes = at_root, .reader = root});
    if (!at_root) offer_input(count);
    cut(count, 1);
    return reserve(schedule, stage_count_, false);
  }
  kind_ = Kind::shares;
  set_part({.shares = at_root, .result_reader = root});
  offer_input(count);
  cut(count, size());
  return reserve(schedule, stage_count_ / size(), !at_root);
}

Status PipelineReduction::reduce_scatter(Schedule& schedule, const Count* begins, Count each) {
  kind_ = Kind::blocks;
  begins_ = begins;
  each_ = each;
  Count longest = 0;
  for (int rank = 0; rank < size(); ++rank) longest = std::max(longest, block_count(rank));
  const int64_t bytes =
      std::min(pipeline_piece_bytes(longest * type_.size), ring().stage_bytes_max() / 2 / size());
  stage_count_ = std::max<Count>(bytes / type_.size, 1);
  part_bytes_ = (stage_count_ * type_.size + shm::kLineBytes - 1) / shm::kLineBytes * shm::kLineBytes;
  const Count all = block_begin(size() - 1) + block_count(size() - 1);
  set_kind(Collective::reduce_scatter, all * type_.size);
  offer_input(all);
  // In place, the result would overwrite blocks that have not been put yet.
  if (input_ == receive_) HEARTH_TRY(schedule.scratch(type_, block_count(rank()), block_result_));
  HEARTH_TRY(reserve(schedule, stage_count_, false));
  set_stages((longest + stage_count_ - 1) / stage_count_, part_bytes_ * size());
  return {};
}

Status PipelineReduction::scan_whole(Schedule& schedule, Count count, bool inclusive) {
  set_kind(Collective::scan, count * type_.size);
  kind_ = Kind::scan_whole;
  inclusive_ = inclusive;
  set_part({.puts = rank() < size() - 1});
  if (rank() < size() - 1 && input_ != receive_) offer_input(count);
  cut(count, 1);
  return reserve_operands(schedule, size(), stage_count_);
}

Status PipelineReduction::scan_chain(Schedule& schedule, Count count, bool inclusive) {
  set_kind(Collective::scan, count * type_.size);
  kind_ = Kind::scan_chain;
  inclusive_ = inclusive;
  const bool last = rank() == size() - 1;
  set_part({.puts = !last, .taken = PipelineRing::Word::reduced, .result_reader = rank() + 1});
  cut(count, 1);
  HEARTH_TRY(reserve_operands(schedule, 2, stage_count_));
  return inclusive || last ? Status() : schedule.scratch(type_, stage_count_, result_);
}

void PipelineReduction::join(Schedule& schedule) {
  schedule.add_shared(*this, &type_, nullptr, &op_);
  if (block_result_ == nullptr) return;
  const Count count = block_count(rank());
  schedule.copy(block_result_, count, type_, receive_, count, type_);
}

PipelineReduction::Range PipelineReduction::range(int64_t stage, int rank) const {
  const Count begin = stage * stage_count_;
  if (kind_ == Kind::blocks) {
    const Count count = std::clamp<Count>(block_count(rank) - begin, 0, stage_count_);
    return {block_begin(rank) + begin, count, rank * part_bytes_};
  }
  const Count count = std::min(stage_count_, count_ - begin);
  if (kind_ == Kind::shares) {
    const Shares shares(count, size());
    return {begin + shares.begin(rank), shares.count(rank), shares.begin(rank) * type_.size};
  }
  return {begin, count, 0};
}

void PipelineReduction::put_range(const Range& range, std::byte* stage_data) {
  const int64_t bytes = range.count * type_.size;
  ring().store_policy.fill(type_, input_, range.begin * type_.size, stage_data + range.offset,
                           static_cast<size_t>(bytes));
  access_counters::writes(stage_data + range.offset, bytes);
  access_counters::copies(bytes);
}

bool PipelineReduction::put(int64_t stage, std::byte* stage_data) {
  if (kind_ == Kind::scan_chain) return false;
  if (kind_ != Kind::shares && kind_ != Kind::blocks) {
    put_range(range(stage, rank()), stage_data);
    return true;
  }
  for (int way = 1; way < size(); ++way) {
    const Range others = range(stage, (rank() + way) % size());
    if (others.count > 0) put_range(others, stage_data);
  }
  return true;
}

bool PipelineReduction::takes_from(int64_t stage, int from) const {
  if (kind_ == Kind::scan_whole) return from < rank();
  if (kind_ == Kind::scan_chain) return from == rank() - 1;
  return range(stage, rank()).count > 0;
}

bool PipelineReduction::shares_from(int64_t stage, int from) const {
  return range(stage, from).count > 0;
}

const std::byte* PipelineReduction::packed_operand(int from, uint64_t begin, const Range& range) {
  const int64_t bytes = range.count * type_.size;
  const std::byte* const operand = source(from, begin, range.offset, range.begin * type_.size, bytes);
  access_counters::reads(operand, bytes);
  return operand;
}

/// Reduces the operands of the ranks from `first` to `last`, in this order.
void PipelineReduction::reduce_operands(int first, int last, uint64_t begin, const Range& range,
                                        std::byte* to) {
  access_counters::reduces((last - first) * range.count * type_.size);
  if (!type_.contiguous) return reduce_unpacked(first, last, begin, range, to);
  for (int from = first; from <= last; ++from) {
    operands_[from - first] = from == rank() ? element(input_, range.begin)
                                             : packed_operand(from, begin, range) - type_.true_lower_bound;
  }
  note(datatype::reduce_all(op_, type_, {operands_, static_cast<size_t>(last - first + 1)}, to, range.count));
}

// From the last rank to the first, like reduce_all(). Pre: the own elements are not at `to`, or are the last
// operand.
void PipelineReduction::reduce_unpacked(int first, int last, uint64_t begin, const Range& range,
                                        std::byte* to) {
  const std::byte* const own = element(input_, range.begin);
  const auto bytes = static_cast<size_t>(range.count * type_.size);
  if (last == rank()) {
    keep(own, to, range.count);
  } else {
    datatype::unpack(type_, to, 0, packed_operand(last, begin, range), bytes);
  }
  for (int from = last - 1; from >= first; --from) {
    if (from != rank()) datatype::unpack(type_, unpacked_, 0, packed_operand(from, begin, range), bytes);
    note(datatype::reduce(op_, type_, from == rank() ? own : unpacked_, to, range.count));
  }
}

void PipelineReduction::keep(const void* result, std::byte* place, Count count) {
  if (result == place) return;
  note(datatype::copy(result, count, type_, place, count, type_));
  access_counters::copies(count * type_.size);
}

bool PipelineReduction::reduce(int64_t stage, uint64_t begin) {
  const Range own = range(stage, rank());
  if (kind_ == Kind::scan_chain) return reduce_link(own, begin);
  if (kind_ == Kind::scan_whole) {
    const int last = inclusive_ ? rank() : rank() - 1;
    if (last >= 0) reduce_operands(0, last, begin, own, element(receive_, own.begin));
    return false;
  }
  if (own.count == 0) return false;
  std::byte* place = nullptr;  // where the result stays; nullptr: not on this rank
  if (kind_ == Kind::blocks) {
    place = element(block_result_ != nullptr ? block_result_ : receive_, stage * stage_count_);
  } else if (root_ < 0 || root_ == rank()) {
    place = element(receive_, own.begin);
  }
  std::byte* to = result_ != nullptr ? result_ : place;
  reduce_operands(0, size() - 1, begin, own, to);
  if (place != nullptr) keep(to, place, own.count);
  if (kind_ != Kind::shares || root_ == rank()) return false;
  put_result(to, own, begin);
  return true;
}

void PipelineReduction::put_result(const void* result, const Range& range, uint64_t begin) {
  std::byte* const stage_data = ring().place(rank(), begin) + range.offset;
  const int64_t bytes = range.count * type_.size;
  ring().store_policy.fill(type_, result, 0, stage_data, static_cast<size_t>(bytes));
  access_counters::writes(stage_data, bytes);
  access_counters::copies(bytes);
}

// The previous rank's result replaces the operands of all ranks before this one.
bool PipelineReduction::reduce_link(const Range& range, uint64_t begin) {
  const bool first = rank() == 0;
  const bool last = rank() == size() - 1;
  const auto bytes = static_cast<size_t>(range.count * type_.size);
  std::byte* const to = element(receive_, range.begin);
  const std::byte* result = element(input_, range.begin);
  if (!first && (inclusive_ || !last)) {
    std::byte* const place = inclusive_ ? to : result_;
    reduce_operands(rank() - 1, rank(), begin, range, place);
    result = place;
  }
  if (!last) put_result(result, range, begin);
  if (inclusive_) {
    keep(result, to, range.count);
  } else if (!first) {
    datatype::unpack(type_, to, 0, packed_operand(rank() - 1, begin, range), bytes);
  }
  return !last;
}

void PipelineReduction::share(int64_t stage, int from, const std::byte* stage_data) {
  const Range theirs = range(stage, from);
  const int64_t bytes = theirs.count * type_.size;
  datatype::unpack(type_, receive_, theirs.begin * type_.size, stage_data + theirs.offset,
                   static_cast<size_t>(bytes));
  access_counters::reads(stage_data + theirs.offset, bytes);
  access_counters::copies(bytes);
}

}  // namespace hearth::coll
