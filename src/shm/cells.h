// The bounce buffers of one sender: the cell pool of scalable-intranode-2006, section 3.2.2, through which
// long messages are copied in fragments. The owner fills a cell; the receiver copies out of it and marks it
// free; only the owner takes marked cells again ("mark and sweep"), so no lock is needed. Recycled buffers: a
// receiver may fill an emptied cell with a message for the owner, which then marks it free
// (p2p/recycled_buffers.h).
//
//   owner:    take -> fill -> announce in a ring (release)      ... take again: mark seen (acquire)
//   receiver:                 see it (acquire) -> copy out -> mark + 1 (release)
//
// A mark counts how often the cell was emptied. Only the process that holds the cell writes it, usually the
// receiver; the owner counts how often it has sent the cell, so it only reads the mark's line.
//
// A fragment takes a run of consecutive cells; the mark of the first one counts. Runs are taken in cyclic
// order, so the memory unused for the longest time comes next. This is on purpose: a cell that was just
// emptied is in the receiver's cache, and each store to it must invalidate a line there. If the pool is
// larger than an L2 cache, the cell has moved to the shared cache before it is taken again, and writing it is
// twice as fast (docs/notebook/copying.md). Pages are allocated as the owner reaches them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "shm/segment.h"

namespace hearth::shm {

/// The longest run that may be taken from a pool of that many cells: a quarter of it.
constexpr size_t run_bytes_max(size_t cell_count, size_t cell_bytes) {
  return std::max<size_t>(cell_count / 4, 1) * cell_bytes;
}

class CellPool {
 public:
  CellPool() = default;
  CellPool(const Segment& segment, int owner);

  /// The first cell of the next free run that holds this many bytes; -1 if too many cells are with receivers,
  /// or if memory is short. With `gap`, an empty cell follows a run that is long enough for the reader to
  /// prefetch beyond its end.
  int take(size_t bytes, bool gap);
  /// Prefetches for write one more of the cells to be taken next, up to `bytes_ahead`; false if none is left.
  /// Called while the owner is idle: an emptied cell otherwise costs a cache miss per line.
  bool prefetch_for_write(size_t bytes_ahead);
  /// The number of this use of a run; valid right after take().
  uint32_t ticket(int cell) const { return sent_[static_cast<size_t>(cell)]; }
  /// Whether the receiver has emptied the run of this use; its cells may have been taken again since. The
  /// acquire load pairs with mark_free().
  bool returned(int cell, uint32_t ticket) const { return returned(*segment_, owner_, cell, ticket); }

  std::byte* memory(int cell) const;
  size_t run_bytes_max() const { return shm::run_bytes_max(sent_.size(), cell_bytes_); }

  /// Returns a cell of `owner`; called by the process that holds it.
  static void mark_free(const Segment& segment, int owner, int cell);
  /// The number of the next use, if the process that holds the cell fills it again.
  static uint32_t next_ticket(const Segment& segment, int owner, int cell);
  static bool returned(const Segment& segment, int owner, int cell, uint32_t ticket);

 private:
  bool make_room(size_t cells);
  size_t first_busy(size_t first, size_t count) const;

  const Segment* segment_ = nullptr;
  int owner_ = 0;
  size_t cell_bytes_ = 0;
  size_t turn_ = 0;               // next cell to check
  size_t ready_ = 0;              // cells that have memory
  size_t over_ = 0;               // cells from turn_ to here have been prefetched for write
  std::vector<uint32_t> sent_;    // by first cell: uses of a run; it is free when its mark has the same value
  std::vector<uint32_t> run_of_;  // by cell: first cell of the run that covered it last
};

}  // namespace hearth::shm
