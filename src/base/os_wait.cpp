#include "base/os_wait.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/os_io.h"
#include "base/os_machine.h"

namespace hearth::os {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

// Processors that a quota of `quota_us` in each `period_us` is worth, rounded up.
int processors_of(long long quota_us, long long period_us) {
  if (quota_us <= 0 || period_us <= 0) return 0;
  const long long processors = (quota_us + period_us - 1) / period_us;
  return processors > INT_MAX ? 0 : static_cast<int>(processors);
}

int smaller_limit(int a, int b) {
  if (a == 0) return b;
  if (b == 0) return a;
  return a < b ? a : b;
}

int quota_of_folder(const std::string& folder, bool version2) {
  long long quota_us = 0;
  long long period_us = 0;
  if (version2) {
    const std::string text = read_text((folder + "/cpu.max").c_str());  // "max 100000" or "150000 100000"
    if (std::sscanf(text.c_str(), "%lld %lld", &quota_us, &period_us) != 2) return 0;
  } else {
    if (std::sscanf(read_text((folder + "/cpu.cfs_quota_us").c_str()).c_str(), "%lld", &quota_us) != 1)
      return 0;
    if (std::sscanf(read_text((folder + "/cpu.cfs_period_us").c_str()).c_str(), "%lld", &period_us) != 1)
      return 0;
  }
  return processors_of(quota_us, period_us);
}

// A limit holds for everything below it: the smallest one from our group up to the top counts.
int quota_up_from(const ControlGroup& group) {
  int limit = 0;
  for (std::string path = group.path;; path.resize(path.rfind('/'))) {
    limit = smaller_limit(limit, quota_of_folder(group.mount + path, group.version2));
    if (path.empty()) return limit;
  }
}

}  // namespace

void futex_wait(uint32_t& word, uint32_t expected, uint64_t timeout_ns) {
  timespec timeout;
  timeout.tv_sec = static_cast<time_t>(timeout_ns / kNsPerSecond);
  timeout.tv_nsec = static_cast<long>(timeout_ns % kNsPerSecond);
  // Not FUTEX_PRIVATE_FLAG: the waker is another process.
  ::syscall(SYS_futex, &word, FUTEX_WAIT, expected, &timeout, nullptr, 0);
}

void futex_wake(uint32_t& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool membarrier_register() {
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
  for (const ControlGroup& group : control_groups("cpu")) limit = smaller_limit(limit, quota_up_from(group));
  return limit;
}

}  // namespace hearth::os
