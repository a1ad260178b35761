// Sleeping, waking, yielding and asking the scheduler and the clock.
#pragma once

#include <cstdint>

namespace hearth::os {

/// Sleeps until another process wakes `word`, it no longer holds `expected`, or the time is over.
/// The word lies in shared memory. May return early; the caller looks again.
void futex_wait(uint32_t& word, uint32_t expected, uint64_t timeout_ns);
/// Wakes every sleeper on `word`.
void futex_wake(uint32_t& word);

/// Makes this process a target of membarrier(); false where the kernel or a filter refuses.
bool membarrier_register();
/// A full fence on every registered process that runs now: the heavy half of an asymmetric fence, whose
/// light half is atomic::fence_compiler(). Pre: membarrier_register() succeeded.
void membarrier();

/// Lets another runnable thread have this processor.
void yield_processor();
/// Sleeps for a while.
void sleep_ns(uint64_t duration_ns);
/// Nanoseconds of a clock that never goes back.
uint64_t now_ns();
/// Processors that this process may run on: its affinity mask, at least 1.
int usable_processors();
/// Processors' worth of time that the control group grants, rounded up; 0 when it sets no limit.
int quota_processors();

}  // namespace hearth::os
