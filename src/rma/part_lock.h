// The lock of one process's part of a window (MPI_Win_lock): a word that all who reach it change by atomic
// operations.
//
//   bit  63          62       61 .. 0
//        | exclusive | wanted | shared holders |
//
// Who wants it alone and does not get it says so; from then on nobody joins the shared holders, so that those
// who are many do not keep out the one. The bit falls when somebody gets the lock alone.
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "shm/layout.h"

namespace hearth::rma {

class PartLock {
 public:
  explicit PartLock(shm::WindowBoard& board) : word_(board.lock), waiting_(board.waiting) {}

  /// Never blocks.
  bool try_lock(bool exclusive) {
    uint64_t word = atomic::load_relaxed(word_);
    for (;;) {
      if (exclusive) {
        const bool is_free = (word & ~kWanted) == 0;
        if (!is_free && (word & kWanted) != 0) return false;
        // Pairs with the release in unlock(): what the last holder has stored is seen.
        if (atomic::compare_exchange(word_, word, is_free ? kExclusive : word | kWanted)) {
          if (is_free) return true;
        }
      } else {
        if ((word & (kExclusive | kWanted)) != 0) return false;
        if (atomic::compare_exchange(word_, word, word + 1)) return true;
      }
      word = atomic::load_relaxed(word_);
    }
  }
  /// Whether somebody waits, who is to be woken. Pre: locked that way.
  [[nodiscard]] bool unlock(bool exclusive) {
    if (exclusive) {
      atomic::fetch_and(word_, ~kExclusive);
    } else {
      atomic::fetch_add(word_, ~uint64_t{0});
    }
    // The word before the number of those who wait, who do it the other way round.
    atomic::fence_full();
    return atomic::load_relaxed(waiting_) != 0;
  }
  /// Around waiting: after begin_wait() comes another try_lock() before anybody sleeps.
  void begin_wait() {
    atomic::fetch_add(waiting_, uint32_t{1});
    atomic::fence_full();
  }
  void end_wait() { atomic::fetch_add(waiting_, ~uint32_t{0}); }

 private:
  static constexpr uint64_t kExclusive = uint64_t{1} << 63;
  static constexpr uint64_t kWanted = uint64_t{1} << 62;

  uint64_t& word_;
  uint32_t& waiting_;
};

}  // namespace hearth::rma
