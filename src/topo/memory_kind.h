// Kinds of memory (low latency, high bandwidth, large), and the memory node of each kind for a rank. The
// launcher determines the nodes (topo/memory_nodes.h) and writes them into the segment; the library binds
// memory to them. Pure computation.
#pragma once

#include <string_view>

#include "base/status.h"
#include "shm/layout.h"

namespace hearth::topo {

/// `local`: ordinary memory nearest to the rank.
enum class MemoryKind { local, low_latency, high_bandwidth, large };
constexpr int kMemoryKinds = 4;

/// "local", "lowlat", "highbw" or "large": the words of parameters and info keys.
const char* memory_kind_name(MemoryKind kind);
/// Parses a kind's name; false if there is none of that name.
bool memory_kind_of_name(std::string_view name, MemoryKind& kind);

/// The operating system's number of the node; -1 if the machine has one node only or nothing is known. Memory
/// then follows the system's policy, which is first touch.
int node_of_kind(const shm::RankMemory& memory, MemoryKind kind);

/// Sets the nodes of the rank's rings, bounce buffers and arena from the parameters memory_... The defaults
/// follow manycore-hbm-affinity-2018: high-bandwidth memory pays if both shared and user buffers are in it,
/// so bounce buffers and arena share a node; rings are small and latency-bound. Fails with MPI_ERR_ARG on an
/// unknown name.
Status choose_nodes(shm::RankMemory& memory);

}  // namespace hearth::topo
