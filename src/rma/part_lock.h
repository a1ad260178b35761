// The lock of one process's part of a window (MPI_Win_lock): a word that all processes that reach it change
// by atomic operations.
//
//   bit  63          62       61 .. 0
//        | exclusive | wanted | if exclusive: 1 + the process that holds the lock;
//        |           |        | otherwise: the number of shared holders
//
// A writer that does not get the lock sets `wanted`, which blocks new readers until a writer has had the
// lock.
//
// The wait diagnostics need the holders. The exclusive one is in the word, so the lock and its owner change
// in one step. A shared holder sets the target's bit on its own board (WindowBoard::shared) by plain stores,
// after it has acquired the lock and until before it releases it: a bit that is set names a holder, a holder
// may lack its bit for a moment. holders() therefore returns the number in the word as well, and a waiter
// that finds fewer bits than holders reports an unknown holder. If a holder dies, its mark stays: the lock is
// never released, and the waiter ends its wait with an error (Window::await_lock).
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "base/peer_index.h"
#include "shm/layout.h"

namespace hearth::rma {

class PartLock {
 public:
  explicit PartLock(shm::WindowBoard& board) : word_(board.lock), waiting_(board.waiting) {}

  /// Never blocks. `process` holds the lock afterwards.
  bool try_lock(bool exclusive, PeerIndex process) {
    uint64_t word = atomic::load_relaxed(word_);
    for (;;) {
      if (exclusive) {
        const bool is_free = (word & ~kWanted) == 0;
        if (!is_free && (word & kWanted) != 0) return false;
        const uint64_t owned = kExclusive | static_cast<uint32_t>(process + 1);
        // Pairs with the release in unlock(): the stores of the last holder are visible.
        if (atomic::compare_exchange(word_, word, is_free ? owned : word | kWanted)) {
          if (is_free) return true;
        }
      } else {
        if ((word & (kExclusive | kWanted)) != 0) return false;
        if (atomic::compare_exchange(word_, word, word + 1)) return true;
      }
      word = atomic::load_relaxed(word_);
    }
  }
  /// Returns whether processes wait, which the caller has to wake. Pre: locked in this mode.
  [[nodiscard]] bool unlock(bool exclusive) {
    if (exclusive) {
      atomic::fetch_and(word_, kWanted);
    } else {
      atomic::fetch_add(word_, ~uint64_t{0});
    }
    // The store to the word precedes the load of the number of waiters. A waiter has the reverse order, by
    // begin_wait().
    atomic::fence_full_after_update();
    return atomic::load_relaxed(waiting_) != 0;
  }
  /// Around waiting: after begin_wait() the caller tries the lock once more before it sleeps.
  void begin_wait() {
    atomic::fetch_add(waiting_, uint32_t{1});
    atomic::fence_full();
  }
  void end_wait() { atomic::fetch_add(waiting_, ~uint32_t{0}); }

  struct Holders {
    uint64_t count = 0;
    PeerIndex exclusive = -1;  // the only holder; below 0: all are shared holders
  };
  Holders holders() const {
    // The acquire load precedes the loads of the shared holders' boards.
    const uint64_t word = atomic::load_acquire(word_);
    if ((word & kExclusive) == 0) return {word & ~kWanted, -1};
    return {1, static_cast<PeerIndex>(static_cast<uint32_t>(word) - 1)};
  }

 private:
  static constexpr uint64_t kExclusive = uint64_t{1} << 63;
  static constexpr uint64_t kWanted = uint64_t{1} << 62;

  uint64_t& word_;
  uint32_t& waiting_;
};

/// The targets for whose parts a process holds a shared lock, on its own board: see above. Ranks beyond the
/// bits are not recorded.
class SharedHolds {
 public:
  explicit SharedHolds(shm::WindowBoard& own) : words_(own.shared) {}

  void set(int target, bool held) {
    const auto at = static_cast<size_t>(target);
    if (at / 64 >= shm::kSharedHoldWords) return;
    const uint64_t bit = uint64_t{1} << at % 64;
    const uint64_t word = atomic::load_relaxed(words_[at / 64]);
    atomic::store_relaxed(words_[at / 64], held ? word | bit : word & ~bit);
  }
  bool has(int target) const {
    const auto at = static_cast<size_t>(target);
    return at / 64 < shm::kSharedHoldWords && (atomic::load_relaxed(words_[at / 64]) >> at % 64 & 1) != 0;
  }

 private:
  uint64_t* words_;
};

}  // namespace hearth::rma
