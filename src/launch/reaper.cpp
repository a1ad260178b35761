#include "launch/reaper.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

#include "base/os_process.h"
#include "mpi.h"

namespace hearth::launch {
namespace {

// mpiexec's message at the end of the job.
constexpr int32_t kDismissed = 0;

[[noreturn]] void watch(int pipe) {
  std::vector<int32_t> groups;
  int32_t group;
  // Writes of less than PIPE_BUF are atomic, so a number is never read in part.
  while (os::read_some(pipe, &group, sizeof group) == sizeof group) {
    if (group == kDismissed) os::end_process(0);
    groups.push_back(group);
  }
  for (const int32_t leader : groups) os::signal_group(leader, SIGKILL);
  os::end_process(0);
}

}  // namespace

Status Reaper::start(char** arguments) {
  os::Pipe pipe;
  if (!os::make_pipe(pipe)) {
    return fail(MPI_ERR_OTHER, "cannot make a pipe: %s. Remedy: raise the limit on open files (ulimit -n)",
                std::strerror(errno));
  }
  pid_ = os::fork_process();
  if (pid_ < 0) {
    return fail(MPI_ERR_OTHER, "cannot start a process: %s. Remedy: raise the limit on processes (ulimit -u)",
                std::strerror(errno));
  }
  if (pid_ == 0) {
    os::become_detached(pipe.read_end.number(), "hearth-reaper", arguments);
    watch(pipe.read_end.number());
  }
  pipe_ = std::move(pipe.write_end);
  return {};
}

Reaper::~Reaper() {
  if (pid_ <= 0) return;
  // One of the two suffices: a stopped process does not read, and a sandbox may refuse kill.
  os::write_some(pipe_.number(), &kDismissed, sizeof kDismissed);
  os::signal_process(pid_, SIGKILL);
  os::reap(pid_);
}

}  // namespace hearth::launch
