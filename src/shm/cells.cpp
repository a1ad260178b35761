#include "shm/cells.h"

#include "base/atomic.h"

namespace hearth::shm {

CellPool::CellPool(const Segment& segment, int owner)
    : segment_(&segment), owner_(owner), cell_bytes_(segment.job().cell_bytes) {
  const int count = static_cast<int>(segment.job().cell_count);
  free_.reserve(static_cast<size_t>(count));
  busy_.reserve(static_cast<size_t>(count));
  for (int cell = count - 1; cell >= 0; --cell) free_.push_back(cell);
}

int CellPool::take() {
  if (free_.empty()) sweep();
  if (free_.empty()) return -1;
  const int cell = free_.back();
  free_.pop_back();
  return cell;
}

bool CellPool::returned(int cell) const {
  return atomic::load_acquire(segment_->cell_mark(owner_, static_cast<uint32_t>(cell))) != 0;
}

void CellPool::reuse(int cell) {
  // No other process looks at the mark before it is told of the cell again, in a ring, with release.
  atomic::store_relaxed(segment_->cell_mark(owner_, static_cast<uint32_t>(cell)), 0u);
}

std::byte* CellPool::memory(int cell) const {
  return segment_->cell_memory(owner_, static_cast<uint32_t>(cell));
}

void CellPool::sweep() {
  size_t kept = 0;
  for (const int cell : busy_) {
    if (returned(cell)) {
      reuse(cell);
      free_.push_back(cell);
    } else {
      busy_[kept++] = cell;
    }
  }
  busy_.resize(kept);
}

void CellPool::mark_free(const Segment& segment, int owner, int cell) {
  // Pairs with the acquire load in returned(): our reads of the cell are over before its owner writes again.
  atomic::store_release(segment.cell_mark(owner, static_cast<uint32_t>(cell)), 1u);
}

}  // namespace hearth::shm
