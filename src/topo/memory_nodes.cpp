#include "topo/memory_nodes.h"

#include <hwloc.h>

#include <algorithm>

namespace hearth::topo {
namespace {

constexpr shm::RankMemory kNothing = {-1, -1, -1, -1, -1, -1, -1, 0};

// An attribute as seen from the first processor local to the node; 0 if unknown.
int64_t attribute_of(hwloc_topology_t topology, hwloc_memattr_id_t attribute, hwloc_obj_t node) {
  const int first = hwloc_bitmap_first(node->cpuset);
  if (first < 0) return 0;
  const hwloc_bitmap_t one = hwloc_bitmap_alloc();
  hwloc_bitmap_only(one, static_cast<unsigned>(first));
  hwloc_location initiator = {};
  initiator.type = HWLOC_LOCATION_TYPE_CPUSET;
  initiator.location.cpuset = one;
  hwloc_uint64_t value = 0;
  const int result = hwloc_memattr_get_value(topology, attribute, node, &initiator, 0, &value);
  hwloc_bitmap_free(one);
  return result == 0 ? static_cast<int64_t>(value) : 0;
}

void add_distances(hwloc_topology_t topology, std::vector<MemoryNode>& nodes) {
  unsigned count = 1;
  hwloc_distances_s* distances = nullptr;
  if (hwloc_distances_get_by_type(topology, HWLOC_OBJ_NUMANODE, &count, &distances,
                                  HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) != 0 ||
      count == 0) {
    return;
  }
  if (distances->nbobjs == nodes.size()) {
    for (unsigned i = 0; i < distances->nbobjs; ++i) {
      const hwloc_uint64_t* row = distances->values + size_t{i} * distances->nbobjs;
      // Scaled so that a node's distance to itself is 10, as in the firmware's table; measured ones have
      // other units.
      const hwloc_uint64_t own = std::max<hwloc_uint64_t>(row[i], 1);
      std::vector<int>& mine = nodes[distances->objs[i]->logical_index].distances;
      mine.resize(nodes.size());
      for (unsigned j = 0; j < distances->nbobjs; ++j) {
        mine[distances->objs[j]->logical_index] = static_cast<int>(row[j] * 10 / own);
      }
    }
  }
  hwloc_distances_release(topology, distances);
}

bool is_near(const MemoryNode& node, std::span<const int> processors) {
  return !processors.empty() && std::all_of(processors.begin(), processors.end(), [&](int number) {
    return std::binary_search(node.processors.begin(), node.processors.end(), number);
  });
}

}  // namespace

std::vector<MemoryNode> memory_nodes_of(hwloc_topology_t topology) {
  std::vector<MemoryNode> nodes;
  for (hwloc_obj_t object = nullptr;
       (object = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, object)) != nullptr;) {
    MemoryNode node;
    node.number = static_cast<int>(object->os_index);
    node.bytes = object->attr->numanode.local_memory;
    int processor = -1;
    while ((processor = hwloc_bitmap_next(object->cpuset, processor)) >= 0) {
      node.processors.push_back(processor);
    }
    node.bandwidth_mib_s = attribute_of(topology, HWLOC_MEMATTR_ID_BANDWIDTH, object);
    node.latency_ns = attribute_of(topology, HWLOC_MEMATTR_ID_LATENCY, object);
    nodes.push_back(std::move(node));
  }
  if (nodes.size() > 1) add_distances(topology, nodes);
  return nodes;
}

shm::RankMemory memory_near(std::span<const MemoryNode> nodes, std::span<const int> processors) {
  if (nodes.size() < 2) return kNothing;
  const MemoryNode* local = nullptr;
  for (const MemoryNode& node : nodes) {
    // Among nodes with the same processors, the first is ordinary memory.
    if (is_near(node, processors) &&
        (local == nullptr || node.processors.size() < local->processors.size())) {
      local = &node;
    }
  }
  if (local == nullptr) return kNothing;
  const MemoryNode* quick = local;
  const MemoryNode* broad = local;
  const MemoryNode* large = local;
  for (const MemoryNode& node : nodes) {
    if (!is_near(node, processors)) continue;
    // An attribute unknown for ordinary memory cannot be compared.
    if (node.latency_ns > 0 && node.latency_ns < quick->latency_ns) quick = &node;
    if (broad->bandwidth_mib_s > 0 && node.bandwidth_mib_s > broad->bandwidth_mib_s) broad = &node;
    if (node.bytes > large->bytes) large = &node;
  }
  const auto number = [](const MemoryNode* node) { return static_cast<int16_t>(node->number); };
  return {number(local), number(quick), number(broad), number(large), -1, -1, -1, 0};
}

}  // namespace hearth::topo
