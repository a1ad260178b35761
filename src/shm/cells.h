// The sender-owned cell pool (scalable-intranode-2006, section 3.2.2): memory through which larger messages
// are copied in pieces. A process fills cells of its own pool only; the receiver copies out of them and marks
// them free; the owner alone takes marked cells back ("mark and sweep"), so each word has one writer at a
// time and no lock is needed.
//
//   owner:    take -> fill -> announce in a ring (release)        ... sweep: mark seen (acquire) -> free
//   again receiver:                 see it (acquire) -> copy out -> mark = 1 (release)
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

  /// A free cell, the one that came back last (its lines are warm), or -1 when all are with receivers.
  int take();
  /// Puts a cell that take() gave and nobody was told of straight back.
  void put_back(int cell) { free_.push_back(cell); }
  /// Whether the receiver has marked a cell that is under way. The acquire load pairs with mark_free().
  bool returned(int cell) const;
  /// Readies a returned cell for use by its present holder without going through the free list.
  void reuse(int cell);
  /// Leaves a cell that is under way to the sweep: its message is done for the sender.
  void leave(int cell) { busy_.push_back(cell); }

  std::byte* memory(int cell) const;
  size_t cell_bytes() const { return cell_bytes_; }

  /// The receiver's side: gives a cell of `owner` back.
  static void mark_free(const Segment& segment, int owner, int cell);

 private:
  void sweep();

  const Segment* segment_ = nullptr;
  int owner_ = 0;
  size_t cell_bytes_ = 0;
  std::vector<int> free_;  // a stack
  std::vector<int> busy_;  // left to the sweep
};

}  // namespace hearth::shm
