// Inspection of other processes, and terminal control: for the tools.
#pragma once

#include <cstddef>

namespace hearth::os {

/// Maps a shared file read-only; nullptr with errno on failure.
void* map_to_read(int descriptor, size_t bytes);

/// Whether a thread sleeps in a futex without a timeout, given the text of its /proc/PID/task/TID/syscall.
bool is_untimed_futex_wait(const char* text);

/// Sets a terminal to deliver each key without waiting for a line and without echo, for the lifetime of the
/// object. The destructor restores the settings; if the process is killed, the shell restores them.
class KeyByKey {
 public:
  explicit KeyByKey(int terminal);
  ~KeyByKey();
  KeyByKey(const KeyByKey&) = delete;
  KeyByKey& operator=(const KeyByKey&) = delete;

 private:
  struct Before;
  int terminal_;
  Before* before_ = nullptr;
};

struct TerminalSize {
  int columns;
  int lines;
};
/// 80 by 24 if unknown.
TerminalSize size_of_terminal(int terminal);

}  // namespace hearth::os
