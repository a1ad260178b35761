// Machines of any shape described to hwloc: the text of a synthetic topology, and the allowed processors.
#include "topo/machine.h"

#include <hwloc.h>

#include "fuzz.h"
#include "topo/relation.h"

using namespace hearth;

// The leak sanitizer's functions, if it is linked.
extern "C" [[gnu::weak]] void __lsan_disable();
extern "C" [[gnu::weak]] void __lsan_enable();

namespace {

// hwloc (2.9) does not free the bracketed memory nodes that it has read before it refuses a text. Only this
// test gives it such texts.
bool describe(hwloc_topology_t topology, const std::string& words) {
  if (__lsan_disable != nullptr) __lsan_disable();
  const bool taken = hwloc_topology_set_synthetic(topology, words.c_str()) == 0;
  if (__lsan_enable != nullptr) __lsan_enable();
  return taken;
}

constexpr unsigned kProcessorsMax = 512;

void check(const topo::Machine& machine) {
  for (const topo::Processor& one : machine.processors()) {
    fuzz::demand(one.number >= 0, "processors have numbers");
    static_cast<void>(topo::relation_of(machine.processors()[0].place, one.place));
    const std::vector<int> numbers = {one.number};
    static_cast<void>(topo::memory_near(machine.memory_nodes(), numbers));
  }
  static_cast<void>(topo::common_place(machine.processors()));
  static_cast<void>(topo::processor_list(machine.processors()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  fuzz::Input input(data, bytes);
  std::vector<int> allowed;
  for (size_t count = input.below(9); count > 0; --count)
    allowed.push_back(static_cast<int>(input.below(64)));
  const std::string words = input.rest();
  // hwloc builds machines of any size, and reads past the end of a text with unusual characters.
  size_t product = 1;
  for (size_t at = 0; at < words.size(); ++at) {
    const auto letter = static_cast<unsigned char>(words[at]);
    if (letter < ' ' || letter > 'z') return 0;
    if (words[at] == ':') product *= std::max(1ul, std::strtoul(words.c_str() + at + 1, nullptr, 0));
    if (product > kProcessorsMax) return 0;
  }
  hwloc_topology_t topology = nullptr;
  fuzz::demand(hwloc_topology_init(&topology) == 0, "hwloc is there");
  if (describe(topology, words) && hwloc_topology_load(topology) == 0) {
    std::sort(allowed.begin(), allowed.end());
    allowed.erase(std::unique(allowed.begin(), allowed.end()), allowed.end());
    const topo::Machine machine = topo::Machine::from_topology(topology, allowed);
    check(machine);
    check(machine.restricted_to(allowed));
  }
  hwloc_topology_destroy(topology);
  check(topo::Machine::from_numbers(allowed));
  return 0;
}
