#include "topo/machine.h"

#include <hwloc.h>

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "base/os_machine.h"

namespace hearth::topo {
namespace {

// Keeps hwloc from loading plugins (PCI, GPUs, another XML reader), which takes ten times as long as the
// discovery of processors. An environment variable is the only switch for this.
class WithoutPlugins {
 public:
  WithoutPlugins() : set_(std::getenv(kName) == nullptr) {
    if (set_) ::setenv(kName, "/nowhere", 1);
  }
  ~WithoutPlugins() {
    if (set_) ::unsetenv(kName);
  }
  WithoutPlugins(const WithoutPlugins&) = delete;
  WithoutPlugins& operator=(const WithoutPlugins&) = delete;

 private:
  static constexpr const char* kName = "HWLOC_PLUGINS_PATH";
  const bool set_;
};

bool describes_another_machine() {
  return std::getenv("HWLOC_XMLFILE") != nullptr || std::getenv("HWLOC_SYNTHETIC") != nullptr ||
         std::getenv("HWLOC_FSROOT") != nullptr;
}

bool load(hwloc_topology_t topology) {
  hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
  for (const hwloc_obj_type_t type :
       {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_CORE}) {
    hwloc_topology_set_type_filter(topology, type, HWLOC_TYPE_FILTER_KEEP_ALL);
  }
  // The x86 component runs on every processor to execute cpuid; sysfs has the same information.
  hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
#if HWLOC_API_VERSION >= 0x00020800
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS);
#endif
  return hwloc_topology_load(topology) == 0;
}

int number_of_ancestor(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_obj_t processor) {
  const hwloc_obj_t object = hwloc_get_ancestor_obj_by_type(topology, type, processor);
  return object == nullptr ? -1 : static_cast<int>(object->logical_index);
}

// hwloc attaches memory nodes beside the tree of processors. Among the nodes local to the processor, takes
// the one with the fewest processors; among equals the first, which is ordinary memory if there is also a
// faster kind.
int numa_of(hwloc_topology_t topology, hwloc_obj_t processor) {
  int found = -1;
  int found_weight = 0;
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    if (!hwloc_bitmap_isincluded(processor->cpuset, node->cpuset)) continue;
    const int weight = hwloc_bitmap_weight(node->cpuset);
    if (found >= 0 && weight >= found_weight) continue;
    found = static_cast<int>(node->logical_index);
    found_weight = weight;
  }
  return found;
}

std::string shape_of(hwloc_topology_t topology) {
  struct Kind {
    hwloc_obj_type_t type;
    const char* name;
  };
  constexpr Kind kKinds[] = {{HWLOC_OBJ_PACKAGE, "packages"}, {HWLOC_OBJ_NUMANODE, "memory nodes"},
                             {HWLOC_OBJ_L3CACHE, "l3"},       {HWLOC_OBJ_L2CACHE, "l2"},
                             {HWLOC_OBJ_CORE, "cores"},       {HWLOC_OBJ_PU, "processors"}};
  std::string shape;
  for (const Kind& kind : kKinds) {
    const int count = std::max(hwloc_get_nbobjs_by_type(topology, kind.type), 0);
    shape += (shape.empty() ? "" : ", ") + std::string(kind.name) + " " + std::to_string(count);
  }
  return shape;
}

std::vector<int> all_processors(hwloc_topology_t topology) {
  std::vector<int> numbers;
  for (hwloc_obj_t object = nullptr;
       (object = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, object)) != nullptr;) {
    numbers.push_back(static_cast<int>(object->os_index));
  }
  return numbers;
}

}  // namespace

Machine Machine::discover(bool other) {
  std::vector<int> allowed = os::allowed_processors();
  // Without /sys, some versions of hwloc report a wrong topology or divide by zero.
  if (!os::path_exists("/sys/devices/system/cpu/cpu0/topology") && !describes_another_machine()) {
    return from_numbers(allowed);
  }
  const WithoutPlugins guard;
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return from_numbers(allowed);
  const bool loaded = load(topology);
  if (loaded && other && describes_another_machine()) allowed = all_processors(topology);
  Machine machine = loaded ? from_topology(topology, allowed) : from_numbers(allowed);
  hwloc_topology_destroy(topology);
  return machine;
}

Machine Machine::from_topology(hwloc_topology_t topology, std::span<const int> allowed) {
  Machine machine;
  machine.detailed_ = true;
  machine.shape_ = shape_of(topology);
  std::vector<int> missing(allowed.begin(), allowed.end());
  for (hwloc_obj_t object = nullptr;
       (object = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, object)) != nullptr;) {
    const int number = static_cast<int>(object->os_index);
    const auto found = std::find(missing.begin(), missing.end(), number);
    if (found == missing.end()) continue;
    missing.erase(found);
    Processor processor;
    processor.number = number;
    processor.place = {number_of_ancestor(topology, HWLOC_OBJ_PACKAGE, object),
                       numa_of(topology, object),
                       number_of_ancestor(topology, HWLOC_OBJ_L3CACHE, object),
                       number_of_ancestor(topology, HWLOC_OBJ_L2CACHE, object),
                       number_of_ancestor(topology, HWLOC_OBJ_CORE, object),
                       number};
    machine.processors_.push_back(processor);
  }
  machine.memory_nodes_ = memory_nodes_of(topology);
  // The affinity mask decides: it may contain processors that hwloc does not list.
  for (const int number : missing) machine.processors_.push_back({number, {-1, -1, -1, -1, -1, number}});
  machine.number_lonely_cores();
  return machine;
}

Machine Machine::from_numbers(std::span<const int> allowed) {
  Machine machine;
  for (const int number : allowed) machine.processors_.push_back({number, {-1, -1, -1, -1, -1, number}});
  if (machine.processors_.empty()) machine.processors_.push_back({});
  machine.shape_ = "processors " + std::to_string(machine.processors_.size());
  machine.number_lonely_cores();
  return machine;
}

// Gives each processor without a known core a core of its own, then sorts.
void Machine::number_lonely_cores() {
  int next = 0;
  for (const Processor& processor : processors_) next = std::max(next, processor.place.core + 1);
  for (Processor& processor : processors_) {
    if (processor.place.core < 0) processor.place.core = next++;
  }
  std::stable_sort(processors_.begin(), processors_.end(), [](const Processor& a, const Processor& b) {
    return std::tie(a.place.package, a.place.numa, a.place.l3, a.place.l2, a.place.core) <
           std::tie(b.place.package, b.place.numa, b.place.l3, b.place.l2, b.place.core);
  });
  count_cores();
}

void Machine::count_cores() {
  std::vector<int> cores;
  for (const Processor& processor : processors_) cores.push_back(processor.place.core);
  std::sort(cores.begin(), cores.end());
  core_count_ = static_cast<int>(std::unique(cores.begin(), cores.end()) - cores.begin());
}

Machine Machine::restricted_to(std::span<const int> numbers) const {
  Machine machine = *this;
  std::erase_if(machine.processors_, [&](const Processor& processor) {
    return std::find(numbers.begin(), numbers.end(), processor.number) == numbers.end();
  });
  machine.restricted_ = machine.processors_.size() < processors_.size();
  machine.count_cores();
  return machine;
}

shm::RankPlace common_place(std::span<const Processor> processors) {
  if (processors.empty()) return {-1, -1, -1, -1, -1, -1};
  shm::RankPlace common = processors.front().place;
  const auto keep_if_same = [](int32_t& mine, int32_t other) {
    if (mine != other) mine = -1;
  };
  for (const Processor& processor : processors) {
    keep_if_same(common.package, processor.place.package);
    keep_if_same(common.numa, processor.place.numa);
    keep_if_same(common.l3, processor.place.l3);
    keep_if_same(common.l2, processor.place.l2);
    keep_if_same(common.core, processor.place.core);
    keep_if_same(common.processor, processor.place.processor);
  }
  return common;
}

std::string number_ranges(std::span<const int> numbers) {
  std::string text;
  for (size_t first = 0; first < numbers.size();) {
    size_t last = first;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(numbers[first]);
    if (last > first) text += '-' + std::to_string(numbers[last]);
    first = last + 1;
  }
  return text;
}

std::string processor_list(std::span<const Processor> processors) {
  std::vector<int> numbers;
  for (const Processor& processor : processors) numbers.push_back(processor.number);
  std::sort(numbers.begin(), numbers.end());
  return number_ranges(numbers);
}

}  // namespace hearth::topo
