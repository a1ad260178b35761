// What memory may be good at, and which memory node of the machine is that for a rank. The launcher finds out
// (topo/memory_nodes.h) and writes it into the segment; the library binds by it. Pure computation.
#pragma once

#include <string_view>

#include "base/status.h"
#include "shm/layout.h"

namespace hearth::topo {

/// `local` is the ordinary memory nearest to the rank.
enum class MemoryKind { local, low_latency, high_bandwidth, large };
constexpr int kMemoryKinds = 4;

/// "local", "lowlat", "highbw" or "large": the words of parameters and info keys.
const char* memory_kind_name(MemoryKind kind);
/// The kind of that name; false where there is none.
bool memory_kind_of_name(std::string_view name, MemoryKind& kind);

/// The system's number of the node; -1 where the machine has only one or nothing is known: then memory
/// comes from where the system takes it, which is near whoever touches it first.
int node_of_kind(const shm::RankMemory& memory, MemoryKind kind);

/// Fills in where the rank's rings, cells and arena lie, as the parameters memory_... say. The default
/// follows manycore-hbm-affinity-2018: fast memory pays where the shared buffers and those of the user are
/// both in it, so cells and arena go there together; rings are small, and read as soon as they are written.
Status choose_nodes(shm::RankMemory& memory);

}  // namespace hearth::topo
