// Sleeping, waking, yielding, the clock and the scheduler.
#pragma once

#include <cstdint>
#include <span>

namespace hearth::os {

/// Sleeps until another process wakes `word`, at most `timeout_ns`; returns at once if `word` is not
/// `expected`. The word lies in shared memory. May return early; the caller polls again.
void futex_wait(uint32_t& word, uint32_t expected, uint64_t timeout_ns);
/// The same for several words: sleeps until one of them is woken or is not `expected`. False if the kernel
/// cannot wait for that number of words (Linux 5.16 and later: 128).
bool futex_wait_any(std::span<uint32_t* const> words, uint32_t expected, uint64_t timeout_ns);
/// Wakes all sleepers on `word`.
void futex_wake(uint32_t& word);

/// Registers this process for membarrier(); false if the kernel or a filter refuses.
bool membarrier_register();
/// A full fence on every registered process that is running: the heavy half of an asymmetric fence, whose
/// light half is atomic::fence_compiler(). Pre: membarrier_register() succeeded.
void membarrier();

/// Yields this processor to another runnable thread.
void yield_processor();
void sleep_ns(uint64_t duration_ns);
/// Nanoseconds of a monotonic clock.
uint64_t now_ns();
/// Number of processors in this process's affinity mask; at least 1.
int usable_processors();
/// The control group's limit of processor time, in processors, rounded up; 0 if there is none.
int quota_processors();

}  // namespace hearth::os
