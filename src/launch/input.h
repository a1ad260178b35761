// Forwarding of standard input to the one rank that receives it. The rank inherits a file or pipe directly,
// so that mpiexec consumes nothing of it. It cannot inherit a terminal: a rank has a process group of its
// own, and the terminal would stop it for reading. mpiexec forwards terminal input through a pipe.
#pragma once

#include <string>

#include "base/os_io.h"

namespace hearth::launch {

class TerminalInput {
 public:
  /// The pipe's read end is for the rank. False with errno if no pipe could be created.
  bool open(int terminal, os::Descriptor& for_rank);

  bool active() const { return to_rank_.open(); }
  int terminal() const { return terminal_; }
  int pipe() const { return to_rank_.number(); }
  /// Whether to poll the terminal (there is buffer space and we are not in the background) or the pipe.
  bool wants_terminal() const;
  bool wants_pipe() const { return active() && !waiting_.empty(); }
  /// Call if the terminal is readable.
  void read();
  /// Call if the pipe may have space.
  void flush();

 private:
  static constexpr size_t kWaitingBytesMax = size_t{64} << 10;

  int terminal_ = -1;
  os::Descriptor to_rank_;
  std::string waiting_;
  bool ended_ = false;
};

}  // namespace hearth::launch
