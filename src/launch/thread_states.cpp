#include "launch/thread_states.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/os_inspect.h"
#include "base/os_io.h"

namespace hearth::launch {
namespace {

bool may_go_on(const std::string& folder) {
  const std::string call = os::read_text((folder + "/syscall").c_str());
  // Without the system call's arguments, use the kernel function that the thread sleeps in: most futex waits
  // have no time limit.
  if (call.empty()) return !os::read_text((folder + "/wchan").c_str()).starts_with("futex");
  return !os::is_untimed_futex_wait(call.c_str());
}

}  // namespace

int count_acting_threads(int pid, const std::vector<int>& waiting) {
  int count = 0;
  std::error_code error;
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  for (std::filesystem::directory_iterator at(tasks, error), end; !error && at != end; at.increment(error)) {
    const int thread = std::atoi(at->path().filename().c_str());
    if (std::ranges::find(waiting, thread) == waiting.end() && may_go_on(at->path())) ++count;
  }
  return count;
}

}  // namespace hearth::launch
