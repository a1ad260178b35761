#include "topo/memory_kind.h"

namespace hearth::topo {
namespace {

constexpr const char* kNames[kMemoryKinds] = {"local", "lowlat", "highbw", "large"};

}  // namespace

const char* memory_kind_name(MemoryKind kind) {
  return kNames[static_cast<int>(kind)];
}

bool memory_kind_of_name(std::string_view name, MemoryKind& kind) {
  for (int i = 0; i < kMemoryKinds; ++i) {
    if (name == kNames[i]) return kind = static_cast<MemoryKind>(i), true;
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

}  // namespace hearth::topo
