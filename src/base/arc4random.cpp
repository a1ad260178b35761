// A definition that keeps statically linked binaries from needing glibc 2.36. libstdc++'s std::random_device
// calls glibc's arc4random, which is new in that version. This tree makes no random_device, but the object of
// libstdc++.a with its constructor also holds the strings of std::logic_error, and so is always linked. The
// hidden definition below satisfies the reference.
#include <cstdint>

#include "base/os_process.h"

extern "C" [[gnu::visibility("hidden")]] uint32_t arc4random() noexcept {
  uint32_t word = 0;
  // A caller expects random numbers: a constant would be worse than the end of the process.
  if (!hearth::os::fill_with_chance(&word, sizeof word)) __builtin_trap();
  return word;
}
