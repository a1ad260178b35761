// A tiny process beside mpiexec that ends the ranks, and what they started in their process groups, when
// mpiexec itself is killed and can do nothing any more. It holds nothing open but a pipe, whose end tells it;
// it is ended together with the job.
#pragma once

#include "base/os_io.h"
#include "base/status.h"

namespace hearth::launch {

class Guardian {
 public:
  Guardian() = default;
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  /// Called before anything else is opened. `arguments` are mpiexec's own, which the copy overwrites.
  Status start(char** arguments);
  /// The pipe into which each rank writes the number of its process group (int32_t) as its first act.
  int announce_descriptor() const { return pipe_.number(); }

 private:
  os::Descriptor pipe_;
  int pid_ = -1;
};

}  // namespace hearth::launch
