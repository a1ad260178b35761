// The memory nodes of a machine: how large, how fast, near which processors, how far from each other. hwloc
// tells (its memory attributes come from the firmware's HMAT, or are known of the processor). Used by the
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
  int number = 0;               // as the system numbers it
  uint64_t bytes = 0;           // 0: not told
  std::vector<int> processors;  // near it; several nodes may be near one processor
  int64_t bandwidth_mib_s = 0;  // from there; 0: not told
  int64_t latency_ns = 0;       // from there; 0: not told
  std::vector<int> distances;   // to each node, itself 10, as the firmware tells; empty: not told
};

/// All nodes that this process may use, in the order of RankPlace::numa.
std::vector<MemoryNode> memory_nodes_of(hwloc_topology* topology);

/// Which node is what for a rank that may use these processors. All -1 where there is only one node, and
/// where no node is near all of the processors.
shm::RankMemory memory_near(std::span<const MemoryNode> nodes, std::span<const int> processors);

}  // namespace hearth::topo
