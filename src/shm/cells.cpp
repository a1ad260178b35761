#include "shm/cells.h"

#include <algorithm>

#include "base/atomic.h"

namespace hearth::shm {
namespace {

// Memory is taken for so many cells at once.
constexpr size_t kCellsPerStep = 16;

}  // namespace

CellPool::CellPool(const Segment& segment, int owner)
    : segment_(&segment),
      owner_(owner),
      cell_bytes_(segment.job().cell_bytes),
      sent_(segment.job().cell_count, 0) {}

bool CellPool::make_room(size_t cells) {
  if (cells <= ready_) return true;
  const size_t wanted = std::min(ready_ + kCellsPerStep, sent_.size());
  if (!segment_->reserve_cells(owner_, static_cast<uint32_t>(ready_),
                               static_cast<uint32_t>(wanted - ready_))) {
    return false;
  }
  ready_ = wanted;
  return true;
}

int CellPool::take() {
  for (size_t looked = 0; looked < sent_.size(); ++looked) {
    if (turn_ == sent_.size()) turn_ = 0;
    // Without memory for more the pool stays as large as it is.
    if (turn_ >= ready_ && !make_room(turn_ + 1)) {
      if (ready_ == 0) return -1;
      turn_ = 0;
    }
    const auto cell = static_cast<int>(turn_++);
    if (turn_ < ready_) __builtin_prefetch(&segment_->cell_mark(owner_, static_cast<uint32_t>(turn_)));
    if (!returned(cell)) continue;
    ++sent_[static_cast<size_t>(cell)];
    return cell;
  }
  return -1;
}

void CellPool::put_back(int cell) {
  --sent_[static_cast<size_t>(cell)];
}

bool CellPool::returned(int cell) const {
  return atomic::load_acquire(segment_->cell_mark(owner_, static_cast<uint32_t>(cell))) ==
         sent_[static_cast<size_t>(cell)];
}

std::byte* CellPool::memory(int cell) const {
  return segment_->cell_memory(owner_, static_cast<uint32_t>(cell));
}

void CellPool::mark_free(const Segment& segment, int owner, int cell) {
  // Pairs with the acquire load in returned(): our reads of the cell are over before its owner writes again.
  uint32_t& mark = segment.cell_mark(owner, static_cast<uint32_t>(cell));
  atomic::store_release(mark, atomic::load_relaxed(mark) + 1);
}

}  // namespace hearth::shm
