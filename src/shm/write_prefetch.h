// Whether prefetching for write pays for the lines of one ring. It assumes that the reader's cache holds the
// lines of the packets that it has read, so that the writer waits for each line. If both share that cache, or
// stores do not wait for it, there is nothing to gain.
//
// Trials decide: now and then the same lines are prefetched twice, and both passes are timed up to a full
// fence. The second pass finds all lines in the writer's cache. If the first one takes no longer, prefetching
// is useless, and only the trials go on. Called while the writer is idle; a trial costs two fences and three
// clock readings.
//
// One per ring, owned by its writer.
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "base/os_wait.h"

namespace hearth::shm {

class WritePrefetch {
 public:
  /// The parameter p2p_prefetch_for_write.
  static bool enabled();

  /// Calls `prefetch`, which returns whether it prefetched, unless that is off or useless. Returns whether
  /// lines were prefetched. Pre: a second call prefetches the same lines.
  template <class Prefetch>
  bool run(const Prefetch& prefetch) {
    if (!enabled()) return false;
    if (++calls_ % kCallsPerTrial != 0) return pays_ && prefetch();
    atomic::fence_full();
    const uint64_t begin_ns = os::now_ns();
    if (!prefetch()) return false;
    atomic::fence_full();
    const uint64_t first_end_ns = os::now_ns();
    prefetch();
    atomic::fence_full();
    update(first_end_ns - begin_ns, os::now_ns() - first_end_ns);
    return true;
  }
  bool pays() const { return pays_; }
  /// Updates the decision with a trial: the first and the second pass took these times.
  void update(uint64_t first_ns, uint64_t again_ns);

 private:
  static constexpr uint32_t kCallsPerTrial = 512;
  // Consecutive trials before a change. A useless prefetch costs idle time; a missing one costs up to 40 % of
  // a packet's latency (cores that share a cache, 1 and 2 KiB, 2026-11-25). So stopping takes more of them.
  static constexpr uint8_t kTrialsToStop = 16;
  static constexpr uint8_t kTrialsToResume = 2;  // an interrupt slows down one pass

  uint32_t calls_ = 0;
  uint8_t against_ = 0;  // consecutive trials that contradict the decision
  bool pays_ = true;
};

}  // namespace hearth::shm
