// Keeps statically linked binaries from needing glibc 2.36. libstdc++'s std::random_device calls arc4random,
// which glibc has since that version. This tree uses no random_device, but the object of libstdc++.a that
// contains its constructor also contains the strings of std::logic_error, so it is always linked. The hidden
// definition below satisfies the reference.
#include <cstdint>

#include "base/os_process.h"

extern "C" [[gnu::visibility("hidden")]] uint32_t arc4random() noexcept {
  uint32_t word = 0;
  // Callers expect random numbers. Ending the process is better than returning a constant.
  if (!hearth::os::fill_with_chance(&word, sizeof word)) __builtin_trap();
  return word;
}
