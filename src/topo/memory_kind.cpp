#include "topo/memory_kind.h"

#include "base/param.h"
#include "mpi.h"

namespace hearth::topo {
namespace {

constexpr const char* kMemoryKindNames[kMemoryKinds] = {"local", "lowlat", "highbw", "large"};

Status choose(const char* name, param::Id id, const shm::RankMemory& memory, int16_t& node) {
  const std::string& word = param::get_text(id);
  MemoryKind kind = MemoryKind::local;
  node = -1;
  if (word == "any") return {};
  if (!memory_kind_of_name(word, kind)) {
    return fail(MPI_ERR_ARG, "%s is '%s'; there are local, lowlat, highbw, large and any", name,
                word.c_str());
  }
  node = static_cast<int16_t>(node_of_kind(memory, kind));
  return {};
}

}  // namespace

const char* memory_kind_name(MemoryKind kind) {
  return kMemoryKindNames[static_cast<int>(kind)];
}

bool memory_kind_of_name(std::string_view name, MemoryKind& kind) {
  for (int i = 0; i < kMemoryKinds; ++i) {
    if (name == kMemoryKindNames[i]) return kind = static_cast<MemoryKind>(i), true;
  }
  return false;
}

int node_of_kind(const shm::RankMemory& memory, MemoryKind kind) {
  switch (kind) {
    case MemoryKind::local:
      return memory.local;
    case MemoryKind::low_latency:
      return memory.low_latency;
    case MemoryKind::high_bandwidth:
      return memory.high_bandwidth;
    case MemoryKind::large:
      return memory.large;
  }
  return -1;
}

Status choose_nodes(shm::RankMemory& memory) {
  HEARTH_TRY(choose("HEARTH_MEMORY_RINGS", param::Id::memory_rings, memory, memory.rings));
  HEARTH_TRY(choose("HEARTH_MEMORY_BUFFERS", param::Id::memory_buffers, memory, memory.buffers));
  return choose("HEARTH_MEMORY_ARENA", param::Id::memory_arena, memory, memory.arena);
}

}  // namespace hearth::topo
