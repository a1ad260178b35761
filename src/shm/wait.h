// Sleeping without lost wake-ups.
//
// A waiting rank spins first, then yields its processor, then sleeps on its `asleep` word. After a store that
// another rank may wait for (a packet, a credit, a buffer's mark), a rank reads that rank's `asleep` word and
// wakes it. This is Dekker's pattern:
//
//   sleeper:  asleep = 1;  FENCE;  poll everything once more;  sleep
//   waker:    store data;  FENCE;  asleep == 1 ?  wake
//
// At least one of the two sees the other's store. The waker's fence would be on the path of every message, so
// it is only a compiler fence; the sleeper, which has time, makes all running ranks execute a full one
// (membarrier). If the kernel refuses membarrier, job().fences_needed makes wakers execute full fences.
// docs/design/memory_model.md has the argument.
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "base/os_wait.h"
#include "shm/segment.h"

namespace hearth::shm {

/// One thread of a rank, the leader thread, sleeps on the rank's word; follower threads sleep on words of
/// their own and rely on the leader's polling (p2p/sleeping_threads.h).
class Sleeper {
 public:
  Sleeper() = default;
  /// Registers this process. Pre: segment outlives the sleeper.
  Sleeper(const Segment& segment, int self);

  /// Announces the sleep. The caller then polls everything that could have woken it once more, sleeps unless
  /// it found something, and calls end() in either case.
  void prepare();
  /// Sleeps until woken or until the timeout. The only function that is called without the library's lock.
  void sleep(uint64_t timeout_ns) const;
  void end();
  /// Wakes the sleeping thread of this process.
  void wake_own();

 private:
  uint32_t* word_ = nullptr;
  bool membarrier_ = false;
};

/// Wakes one rank. wake() follows every store that the rank may wait for; it loads one line, which is nearly
/// always in the cache.
class WakeWord {
 public:
  WakeWord() = default;
  WakeWord(const Segment& segment, int rank)
      : asleep_(&segment.rank(rank).asleep), fences_needed_(&segment.job().fences_needed) {}

  void wake() const {
    if (__builtin_expect(atomic::load_relaxed(*fences_needed_) != 0, 0)) {
      atomic::fence_full();
    } else {
      atomic::fence_compiler();
    }
    // Pairs with the store in Sleeper::prepare.
    if (__builtin_expect(atomic::load_relaxed(*asleep_) != 0, 0)) wake_sleeper();
  }

 private:
  [[gnu::cold]] void wake_sleeper() const {
    atomic::store_relaxed(*asleep_, 0u);
    os::futex_wake(*asleep_);
  }

  // For a wake-up word without a rank: a word that is never set.
  static inline uint32_t nobody_ = 0;
  uint32_t* asleep_ = &nobody_;
  const uint32_t* fences_needed_ = &nobody_;
};

}  // namespace hearth::shm
