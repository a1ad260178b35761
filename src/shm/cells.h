// The sender-owned cell pool (scalable-intranode-2006, section 3.2.2): memory through which larger messages
// are copied in pieces. A process fills cells of its own pool only; the receiver copies out of them and marks
// them free; the owner alone takes marked cells back ("mark and sweep"), so no lock is needed.
//
//   owner:    take -> fill -> announce in a ring (release)      ... take again: mark seen (acquire)
//   receiver:                 see it (acquire) -> copy out -> mark + 1 (release)
//
// A mark counts how often the cell was emptied, and only receivers write it, each while it has the cell; the
// owner knows how often it sent the cell and never has to fetch the mark's line for writing.
//
// Cells are taken in turn, so the one that has rested longest comes next. That is on purpose: a cell that was
// just emptied still lies in the receiver's cache, and writing to it means invalidating it there line by
// line; by the time its turn comes it has moved to the shared cache or to memory, and is written two times as
// fast (docs/performance.md). Pages are touched only as the turn reaches them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shm/segment.h"

namespace hearth::shm {

class CellPool {
 public:
  CellPool() = default;
  CellPool(const Segment& segment, int owner);

  /// The next free cell in turn, or -1 when all are with receivers (or memory is short).
  int take();
  /// Puts a cell that take() gave and nobody was told of straight back.
  void put_back(int cell);
  /// Whether the receiver has emptied a cell that is under way. The acquire load pairs with mark_free(). The
  /// cell is free again from then on.
  bool returned(int cell) const;

  std::byte* memory(int cell) const;
  size_t cell_bytes() const { return cell_bytes_; }

  /// The receiver's side: gives a cell of `owner` back.
  static void mark_free(const Segment& segment, int owner, int cell);

 private:
  bool make_room(size_t cells);

  const Segment* segment_ = nullptr;
  int owner_ = 0;
  size_t cell_bytes_ = 0;
  size_t turn_ = 0;             // cell to look at next
  size_t ready_ = 0;            // cells that have memory behind them
  std::vector<uint32_t> sent_;  // by cell: how often it was taken; marked as often: free
};

}  // namespace hearth::shm
