// The memory nodes of a machine: size, speed, nearby processors, distances from each other. hwloc provides
// them; its memory attributes come from the firmware's HMAT or from knowledge of the processor. Used by the
// launcher and the tools; the library does not link this.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shm/layout.h"
#include "topo/memory_kind.h"

struct hwloc_topology;

namespace hearth::topo {

struct MemoryNode {
  int number = 0;               // the operating system's
  uint64_t bytes = 0;           // 0: unknown
  std::vector<int> processors;  // local to it; a processor may have several local nodes
  int64_t bandwidth_mib_s = 0;  // from these processors; 0: unknown
  int64_t latency_ns = 0;       // from these processors; 0: unknown
  std::vector<int> distances;   // to each node by index, 10 to itself (firmware's SLIT); empty: unknown
};

/// All memory nodes that this process may use; the index is RankPlace::numa.
std::vector<MemoryNode> memory_nodes_of(hwloc_topology* topology);

/// The node of each kind for a rank that may use these processors. All -1 if there is one node only, or if no
/// node is local to all of the processors.
shm::RankMemory memory_near(std::span<const MemoryNode> nodes, std::span<const int> processors);

}  // namespace hearth::topo
