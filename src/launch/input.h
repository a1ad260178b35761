// Standard input on its way to the one rank that gets it. A file or pipe is simply inherited, so that mpiexec
// takes nothing from it that the rank does not ask for. A terminal cannot be: the rank is in a process group
// of its own, which the terminal would stop for reading. Its input is forwarded through a pipe.
#pragma once

#include <string>

#include "base/os_io.h"

namespace hearth::launch {

class TerminalInput {
 public:
  /// The pipe's read end is for the rank. False with errno when no pipe could be made.
  bool open(int terminal, os::Descriptor& for_rank);

  bool active() const { return to_rank_.open(); }
  int terminal() const { return terminal_; }
  int pipe() const { return to_rank_.number(); }
  /// Whether to wait for the terminal (there is room, and we are not in the background) or for the pipe.
  bool wants_terminal() const;
  bool wants_pipe() const { return active() && !waiting_.empty(); }
  /// The terminal has something to read.
  void read();
  /// The rank may have read something.
  void flush();

 private:
  static constexpr size_t kWaitingBytesMax = size_t{64} << 10;

  int terminal_ = -1;
  os::Descriptor to_rank_;
  std::string waiting_;
  bool ended_ = false;
};

}  // namespace hearth::launch
