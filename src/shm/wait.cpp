#include "shm/wait.h"

namespace hearth::shm {

Sleeper::Sleeper(const Segment& segment, int self)
    : word_(&segment.rank(self).asleep), membarrier_(os::membarrier_register()) {
  // If one rank cannot register for membarrier, all wakers must fence.
  if (!membarrier_) atomic::store_release(segment.job().fences_needed, 1u);
}

void Sleeper::prepare() {
  atomic::store_relaxed(*word_, 1u);
  // Pairs with the fence in WakeWord::wake. The full fence is needed in either case: membarrier makes the
  // other processors fence, not necessarily this one.
  atomic::fence_full();
  if (membarrier_) os::membarrier();
}

void Sleeper::sleep(uint64_t timeout_ns) const {
  os::futex_wait(*word_, 1, timeout_ns);
}

void Sleeper::end() {
  atomic::store_relaxed(*word_, 0u);
}

void Sleeper::wake_own() {
  if (atomic::exchange(*word_, 0u) != 0) os::futex_wake(*word_);
}

}  // namespace hearth::shm
