#include "shm/cells.h"

#include <algorithm>

#include "base/atomic.h"
#include "shm/write_prefetch.h"

namespace hearth::shm {
namespace {

// The pool allocates memory in steps of this size.
constexpr size_t kStepBytes = size_t{256} << 10;
// A run of at least this length is followed by an empty cell. The reader's processor prefetches beyond the
// end of such a run and would otherwise take lines from the owner that the owner is about to write. 16 KiB
// messages gain a fifth (docs/notebook/copying.md).
constexpr size_t kGuardedBytes = 8192;

}  // namespace

CellPool::CellPool(const Segment& segment, int owner)
    : segment_(&segment),
      owner_(owner),
      cell_bytes_(segment.geometry().cell_bytes),
      sent_(segment.geometry().cell_count, 0),
      run_of_(segment.geometry().cell_count) {
  for (size_t cell = 0; cell < run_of_.size(); ++cell) run_of_[cell] = static_cast<uint32_t>(cell);
}

bool CellPool::make_room(size_t cells) {
  if (cells <= ready_) return true;
  const size_t step = std::max(cells - ready_, std::max<size_t>(kStepBytes / cell_bytes_, 1));
  const size_t wanted = std::min(ready_ + step, sent_.size());
  if (!segment_->reserve_cells(owner_, static_cast<uint32_t>(ready_),
                               static_cast<uint32_t>(wanted - ready_))) {
    return false;
  }
  ready_ = wanted;
  return true;
}

// The first of `count` cells from `first` on that a receiver has not returned; `first + count` if there is
// none.
size_t CellPool::first_busy(size_t first, size_t count) const {
  for (size_t cell = first; cell < first + count; ++cell) {
    const uint32_t run = run_of_[cell];
    if (!returned(static_cast<int>(run), sent_[run])) return cell;
  }
  return first + count;
}

int CellPool::take(size_t bytes, bool gap) {
  size_t count = std::max<size_t>((bytes + cell_bytes_ - 1) / cell_bytes_, 1);
  if (gap && bytes >= kGuardedBytes) ++count;
  // One round through the pool: each step passes at least one cell, and the end is reached at most twice.
  for (size_t looked = 0; looked <= sent_.size() + count;) {
    // If memory is short, the pool keeps its present size.
    if (turn_ + count > sent_.size() || !make_room(turn_ + count)) {
      if (turn_ == 0) return -1;
      looked += count;
      turn_ = 0;
      over_ = 0;
      continue;
    }
    const size_t busy = first_busy(turn_, count);
    if (busy < turn_ + count) {
      looked += busy + 1 - turn_;
      turn_ = busy + 1;
      continue;
    }
    const size_t first = turn_;
    turn_ += count;
    // A longer run that began here before no longer covers the cells after the new one.
    for (size_t cell = turn_; cell < run_of_.size() && run_of_[cell] == first; ++cell) {
      run_of_[cell] = static_cast<uint32_t>(cell);
    }
    std::fill_n(run_of_.begin() + static_cast<std::ptrdiff_t>(first), count, static_cast<uint32_t>(first));
    if (turn_ < ready_) __builtin_prefetch(&segment_->cell_mark(owner_, run_of_[turn_]));
    ++sent_[first];
    return static_cast<int>(first);
  }
  return -1;
}

bool CellPool::prefetch_for_write(size_t bytes_ahead) {
  if (!WritePrefetch::enabled()) return false;
  over_ = std::max(over_, turn_);
  if (over_ >= std::min(turn_ + bytes_ahead / cell_bytes_, ready_)) return false;
  if (first_busy(over_, 1) == over_) return false;
  std::byte* cell = memory(static_cast<int>(over_++));
  // The owner has exclusive access to a free cell, and its contents are no longer needed.
  for (size_t at = 0; at < cell_bytes_; at += kLineBytes) {
    atomic::store_relaxed(*reinterpret_cast<uint64_t*>(cell + at), uint64_t{0});
  }
  return true;
}

bool CellPool::returned(const Segment& segment, int owner, int cell, uint32_t ticket) {
  // Pairs with the release store in mark_free(). Both numbers count modulo 2^32.
  const uint32_t mark = atomic::load_acquire(segment.cell_mark(owner, static_cast<uint32_t>(cell)));
  return static_cast<int32_t>(mark - ticket) >= 0;
}

uint32_t CellPool::next_ticket(const Segment& segment, int owner, int cell) {
  return atomic::load_relaxed(segment.cell_mark(owner, static_cast<uint32_t>(cell))) + 1;
}

std::byte* CellPool::memory(int cell) const {
  return segment_->cell_memory(owner_, static_cast<uint32_t>(cell));
}

void CellPool::mark_free(const Segment& segment, int owner, int cell) {
  // Pairs with the acquire load in returned(): the reads of the cell precede the owner's next writes.
  uint32_t& mark = segment.cell_mark(owner, static_cast<uint32_t>(cell));
  atomic::store_release(mark, atomic::load_relaxed(mark) + 1);
}

}  // namespace hearth::shm
