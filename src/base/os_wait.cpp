#include "base/os_wait.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "base/chaos.h"
#include "base/os_machine.h"

namespace hearth::os {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

}  // namespace

void futex_wait(uint32_t& word, uint32_t expected, uint64_t timeout_ns) {
  // A wait may end early at any time.
  if (chaos::draw(4) == 1 || chaos::refuses(chaos::Call::futex)) return;
  timespec timeout;
  timeout.tv_sec = static_cast<time_t>(timeout_ns / kNsPerSecond);
  timeout.tv_nsec = static_cast<long>(timeout_ns % kNsPerSecond);
  // Not FUTEX_PRIVATE_FLAG: the waker is another process.
  ::syscall(SYS_futex, &word, FUTEX_WAIT, expected, &timeout, nullptr, 0);
}

namespace {

// struct futex_waitv and FUTEX_32 of Linux 5.16, which older headers lack.
struct WaitedWord {
  uint64_t value;
  uint64_t address;
  uint32_t flags;
  uint32_t reserved;
};
constexpr uint32_t kWordOf32Bits = 2;
constexpr size_t kWordsMax = 128;
constexpr long kFutexWaitv = 449;  // the same number on all architectures but alpha

}  // namespace

bool futex_wait_any(std::span<uint32_t* const> words, uint32_t expected, uint64_t timeout_ns) {
  if (words.size() > kWordsMax || chaos::refuses(chaos::Call::futex)) return false;
  std::array<WaitedWord, kWordsMax> waited;
  for (size_t i = 0; i < words.size(); ++i) {
    waited[i] = {expected, reinterpret_cast<uintptr_t>(words[i]), kWordOf32Bits, 0};
  }
  // The timeout is a time of the clock.
  const uint64_t until_ns = now_ns() + timeout_ns;
  const timespec until = {static_cast<time_t>(until_ns / kNsPerSecond),
                          static_cast<long>(until_ns % kNsPerSecond)};
  const long result = ::syscall(kFutexWaitv, waited.data(), words.size(), 0, &until, CLOCK_MONOTONIC);
  return result >= 0 || (errno != ENOSYS && errno != EPERM);
}

void futex_wake(uint32_t& word) {
  if (chaos::refuses(chaos::Call::wake)) return;
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool membarrier_register() {
  if (chaos::refuses(chaos::Call::membarrier)) return false;
  const long supported = ::syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  if (supported < 0 || (supported & MEMBARRIER_CMD_GLOBAL_EXPEDITED) == 0) return false;
  return ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

void membarrier() {
  ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

void sleep_ns(uint64_t duration_ns) {
  const timespec duration = {static_cast<time_t>(duration_ns / 1'000'000'000u),
                             static_cast<long>(duration_ns % 1'000'000'000u)};
  ::nanosleep(&duration, nullptr);
}

void yield_processor() {
  ::sched_yield();
}

uint64_t now_ns() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNsPerSecond + static_cast<uint64_t>(now.tv_nsec);
}

int usable_processors() {
  const size_t count = allowed_processors().size();
  return count == 0 ? 1 : static_cast<int>(count);
}

int quota_processors() {
  int limit = 0;
  for (const ControlGroup& group : control_groups("cpu")) {
    const int quota = quota_processors_of(group);
    if (quota > 0 && (limit == 0 || quota < limit)) limit = quota;
  }
  return limit;
}

}  // namespace hearth::os
