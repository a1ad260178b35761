// /proc/self/cgroup and /proc/self/mountinfo of any container: the two halves of the input.
#include "base/os_machine.h"

#include "fuzz.h"

using namespace hearth;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  const std::string text = fuzz::Input(data, bytes).rest();
  const size_t half = std::min(text.find('\0'), text.size());
  for (const char* controller : {"cpu", "memory"}) {
    for (const os::ControlGroup& group : os::control_groups_in(
             text.substr(0, half), text.substr(std::min(half + 1, text.size())), controller)) {
      // The search for limits starts at this path and goes up folder by folder.
      fuzz::demand(group.path.empty() || group.path[0] == '/', "a group's path begins at its mount");
    }
  }
  return 0;
}
