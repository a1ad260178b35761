#include "base/os_inspect.h"

#include <linux/futex.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <termios.h>

#include <cstdio>
#include <new>

#include "base/chaos.h"

namespace hearth::os {

void* map_to_read(int descriptor, size_t bytes) {
  if (chaos::refuses(chaos::Call::map)) return nullptr;
  void* address = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, 0);
  return address == MAP_FAILED ? nullptr : address;
}

bool is_untimed_futex_wait(const char* text) {
  long number = -1;
  unsigned long long word, operation, value, limit;
  // The number of the system call and its arguments; "running" if the thread is in none.
  if (std::sscanf(text, "%ld 0x%llx 0x%llx 0x%llx 0x%llx", &number, &word, &operation, &value, &limit) != 5) {
    return false;
  }
  const auto command = static_cast<int>(operation) & FUTEX_CMD_MASK;
  const bool waits = command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET || command == FUTEX_LOCK_PI;
  return number == SYS_futex && waits && limit == 0;
}

struct KeyByKey::Before {
  termios settings;
};

KeyByKey::KeyByKey(int terminal) : terminal_(terminal) {
  auto* before = new (std::nothrow) Before;
  if (before == nullptr || ::tcgetattr(terminal, &before->settings) != 0) {
    delete before;
    return;
  }
  before_ = before;
  termios settings = before->settings;
  settings.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  settings.c_cc[VMIN] = 1;
  settings.c_cc[VTIME] = 0;
  ::tcsetattr(terminal, TCSADRAIN, &settings);
}

KeyByKey::~KeyByKey() {
  if (before_ != nullptr) ::tcsetattr(terminal_, TCSADRAIN, &before_->settings);
  delete before_;
}

TerminalSize size_of_terminal(int terminal) {
  winsize size = {};
  if (::ioctl(terminal, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {80, 24};
  return {size.ws_col, size.ws_row};
}

}  // namespace hearth::os
