#include "launch/input.h"

#include <array>
#include <cerrno>
#include <utility>

namespace hearth::launch {

bool TerminalInput::open(int terminal, os::Descriptor& for_rank) {
  os::Pipe pipe;
  if (!os::make_pipe(pipe)) return false;
  os::set_nonblocking(pipe.write_end.number(), true);
  terminal_ = terminal;
  to_rank_ = std::move(pipe.write_end);
  for_rank = std::move(pipe.read_end);
  return true;
}

bool TerminalInput::wants_terminal() const {
  return active() && !ended_ && waiting_.size() < kWaitingBytesMax && os::in_foreground(terminal_);
}

void TerminalInput::read() {
  if (!wants_terminal()) return;
  std::array<char, 4096> piece;
  const intptr_t bytes = os::read_some(terminal_, piece.data(), piece.size());
  if (bytes < 0 && errno == EAGAIN) return;
  // End of file by the user (0), or the terminal has gone.
  if (bytes <= 0) {
    ended_ = true;
  } else {
    waiting_.append(piece.data(), static_cast<size_t>(bytes));
  }
  flush();
}

void TerminalInput::flush() {
  while (!waiting_.empty()) {
    const intptr_t bytes = os::write_some(to_rank_.number(), waiting_.data(), waiting_.size());
    if (bytes < 0 && errno == EAGAIN) return;
    if (bytes < 0) {
      // The rank has closed its end.
      waiting_.clear();
      ended_ = true;
      break;
    }
    waiting_.erase(0, static_cast<size_t>(bytes));
  }
  if (ended_) to_rank_.reset();
}

}  // namespace hearth::launch
