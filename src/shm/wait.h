// Sleeping without losing a wake-up.
//
// A rank that waits spins first, then offers its processor, then sleeps on its own `asleep` word. A rank
// that has just stored something another may wait for (a packet, a credit, a cell's mark) looks at that
// rank's `asleep` word and wakes it. This is Dekker's pattern:
//
//   sleeper:  asleep = 1;  FENCE;  look at everything once more;  sleep
//   waker:    store news;  FENCE;  asleep == 1 ?  wake
//
// One of the two must see the other. The waker's fence would stand on the path of every message, so it is
// only a compiler fence there; the sleeper, who has time, makes all running ranks execute a full one
// (membarrier). Where the kernel refuses membarrier, job().fences_needed makes wakers pay for theirs.
// docs/design/memory_model.md has the argument.
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "base/os_wait.h"
#include "shm/segment.h"

namespace hearth::shm {

/// One thread of a rank sleeps on the rank's word at a time; those beside it sleep on words of their own and
/// leave it to that one to look after news (p2p/engine.cpp).
class Sleeper {
 public:
  Sleeper() = default;
  /// Registers this process. Pre: segment outlives the sleeper.
  Sleeper(const Segment& segment, int self);

  /// Announces the sleep. The caller then looks once more at everything that could have woken it, and sleeps
  /// unless there was something; end() in either case.
  void prepare();
  /// Sleeps until woken or the time is over. The only one that is called without the library's lock.
  void sleep(uint64_t timeout_ns) const;
  void end();
  /// Wakes the thread of this very process that sleeps.
  void wake_own();

 private:
  uint32_t* word_ = nullptr;
  bool membarrier_ = false;
};

/// How to wake one rank. Rung after every store that the rank may wait for: one load of a line that is nearly
/// always shared in our cache.
class Bell {
 public:
  Bell() = default;
  Bell(const Segment& segment, int rank)
      : asleep_(&segment.rank(rank).asleep), fences_needed_(&segment.job().fences_needed) {}

  void ring() const {
    if (__builtin_expect(atomic::load_relaxed(*fences_needed_) != 0, 0)) {
      atomic::fence_full();
    } else {
      atomic::fence_compiler();
    }
    // Pairs with the store in Sleeper::prepare.
    if (__builtin_expect(atomic::load_relaxed(*asleep_) != 0, 0)) wake();
  }

 private:
  [[gnu::cold]] void wake() const {
    atomic::store_relaxed(*asleep_, 0u);
    os::futex_wake(*asleep_);
  }

  // A bell that belongs to nobody: a word that is never set.
  static inline uint32_t nobody_ = 0;
  uint32_t* asleep_ = &nobody_;
  const uint32_t* fences_needed_ = &nobody_;
};

}  // namespace hearth::shm
