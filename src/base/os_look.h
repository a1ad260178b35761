// Looking at what belongs to other processes, and showing it on a terminal: for the tools.
#pragma once

#include <cstddef>

namespace hearth::os {

/// Maps a shared file for reading only; nullptr with errno on failure.
void* map_to_read(int descriptor, size_t bytes);

/// Whether a thread sleeps in a futex without a time limit, by the text of its /proc/PID/task/TID/syscall.
bool is_untimed_futex_wait(const char* text);

/// Has a terminal hand over each key as it is pressed, without showing it, for as long as this lives. The
/// settings from before come back with its end; of a process that is killed the shell restores them.
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
/// 80 by 24 where it does not say.
TerminalSize size_of_terminal(int terminal);

}  // namespace hearth::os
