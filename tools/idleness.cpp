#include "idleness.h"

#include <cstdio>
#include <cstring>
#include <string>

#include "base/os_io.h"
#include "base/os_wait.h"

namespace hearth::tools {
namespace {

constexpr int kLooks = 25;
constexpr uint64_t kBetweenLooksNs = 20'000'000;
constexpr int kLooksWithOthersMax = 3;
// Longer than waiting ranks stay awake.
constexpr uint64_t kUntilRanksSleepNs = 3'000'000;
constexpr int kLooksInARow = 3;

/// Runnable tasks other than this one; -1 if the kernel does not report them.
int others_running() {
  constexpr const char* kKey = "procs_running ";
  const std::string text = os::read_text("/proc/stat");
  const size_t place = text.find(kKey);
  int running = 0;
  if (place == std::string::npos ||
      std::sscanf(text.c_str() + place + std::strlen(kKey), "%d", &running) != 1)
    return -1;
  return running > 0 ? running - 1 : 0;
}

}  // namespace

bool machine_is_idle() {
  int with_others = 0;
  for (int look = 0; look < kLooks; ++look) {
    os::sleep_ns(kBetweenLooksNs);
    const int others = others_running();
    if (others < 0 || (others > 0 && ++with_others > kLooksWithOthersMax)) return false;
  }
  return true;
}

bool Disturbance::sample() {
  os::sleep_ns(kUntilRanksSleepNs);
  samples_with_others_ = others_running() > 0 ? samples_with_others_ + 1 : 0;
  return samples_with_others_ >= kLooksInARow;
}

}  // namespace hearth::tools
