#include "base/os_wait.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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
