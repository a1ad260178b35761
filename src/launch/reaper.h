// The reaper: a small process beside mpiexec that ends the ranks, and the processes in their process groups,
// if mpiexec itself is killed. It holds nothing open but a pipe; end of file on the pipe means that mpiexec
// has ended. A job that ends normally ends it too.
#pragma once

#include "base/os_io.h"
#include "base/status.h"

namespace hearth::launch {

class Reaper {
 public:
  Reaper() = default;
  ~Reaper();
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;

  /// Call before any other descriptor is opened, so that the reaper inherits none. `arguments` are mpiexec's
  /// own; the reaper overwrites its copy of them.
  Status start(char** arguments);
  /// The pipe into which each rank writes its process group (int32_t) before it does anything else.
  int announce_descriptor() const { return pipe_.number(); }

 private:
  os::Descriptor pipe_;
  int pid_ = -1;
};

}  // namespace hearth::launch
