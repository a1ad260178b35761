// The sender-owned cell pool (scalable-intranode-2006, section 3.2.2): memory through which larger messages
// are copied in pieces. The owner fills a cell; the receiver copies out of it and marks it free; the owner
// alone takes marked cells back ("mark and sweep"), so no lock is needed. A receiver may fill a cell that it
// has emptied with an answer for the owner first, who then marks it (p2p/kept_cells.h).
//
//   owner:    take -> fill -> announce in a ring (release)      ... take again: mark seen (acquire)
//   receiver:                 see it (acquire) -> copy out -> mark + 1 (release)
//
// A mark counts how often the cell was emptied, and only who has the cell writes it, a receiver as a rule;
// the owner knows how often it sent the cell and need not fetch the mark's line for writing.
//
// A piece of a message takes a run of consecutive cells, of which the first one's mark counts. Runs are taken
// in turn, so the memory that has rested longest comes next. That is on purpose: a cell that was just emptied
// still lies in the receiver's cache, and writing to it means invalidating it there line by line; when the
// pool is larger than a second-level cache, it has moved to the shared cache by the time its turn comes, and
// is written two times as fast (docs/notebook/copying.md). Pages are touched only as the turn reaches them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "shm/segment.h"

namespace hearth::shm {

/// The longest run that may be taken of a pool of so many cells: a quarter of it.
constexpr size_t run_bytes_max(size_t cell_count, size_t cell_bytes) {
  return std::max<size_t>(cell_count / 4, 1) * cell_bytes;
}

class CellPool {
 public:
  CellPool() = default;
  CellPool(const Segment& segment, int owner);

  /// The first of the next free cells in turn that hold so many bytes, or -1 when too many are with receivers
  /// (or memory is short). With a gap, an empty cell follows where the reader would fetch ahead.
  int take(size_t bytes, bool gap);
  /// Brings one more cell over of those that will be taken next, as far as `bytes_ahead`; false when there is
  /// none. For an owner who has time: a cell that was emptied costs a journey a line otherwise.
  bool bring_over(size_t bytes_ahead);
  /// Which sending of a run this is; asked right after take().
  uint32_t ticket(int cell) const { return sent_[static_cast<size_t>(cell)]; }
  /// Whether the receiver has emptied the run of that sending; its cells may have been taken again since. The
  /// acquire load pairs with mark_free().
  bool returned(int cell, uint32_t ticket) const { return returned(*segment_, owner_, cell, ticket); }

  std::byte* memory(int cell) const;
  size_t run_bytes_max() const { return shm::run_bytes_max(sent_.size(), cell_bytes_); }

  /// The side of who has a cell of `owner`: gives it back.
  static void mark_free(const Segment& segment, int owner, int cell);
  /// Which sending it is when who has the cell fills it once more.
  static uint32_t next_ticket(const Segment& segment, int owner, int cell);
  static bool returned(const Segment& segment, int owner, int cell, uint32_t ticket);

 private:
  bool make_room(size_t cells);
  size_t first_busy(size_t first, size_t count) const;

  const Segment* segment_ = nullptr;
  int owner_ = 0;
  size_t cell_bytes_ = 0;
  size_t turn_ = 0;               // cell to look at next
  size_t ready_ = 0;              // cells that have memory behind them
  size_t over_ = 0;               // cells from turn_ to here have been brought over
  std::vector<uint32_t> sent_;    // by first cell: how often a run was sent; marked as often: it is back
  std::vector<uint32_t> run_of_;  // by cell: first cell of the run that covered it last
};

}  // namespace hearth::shm
