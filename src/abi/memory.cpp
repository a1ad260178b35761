#include "abi/memory.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "abi/runtime.h"
#include "base/os_memory.h"
#include "mpi.h"

namespace hearth::abi {
namespace {

Status read_alignment(const objects::Info* info, size_t& alignment) {
  if (info == nullptr) return {};
  for (const auto& [key, value] : info->entries) {
    if (key != "mpi_minimum_memory_alignment") continue;
    char* end = nullptr;
    errno = 0;
    const unsigned long long wished = std::strtoull(value.c_str(), &end, 10);
    if (*end != '\0' || errno != 0 || !std::has_single_bit(wished) || wished > PTRDIFF_MAX) {
      return fail(MPI_ERR_INFO_VALUE, "mpi_minimum_memory_alignment is \"%s\": it must be a power of two",
                  value.c_str());
    }
    alignment = std::max<size_t>(alignment, wished);
  }
  return {};
}

void* ordinary_memory(size_t bytes, size_t alignment) {
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
}

}  // namespace

Status MemoryFromMpi::allocate(size_t bytes, const objects::Info* info, void*& memory) {
  size_t alignment = shm::kBlockAlignment;
  HEARTH_TRY(read_alignment(info, alignment));
  bytes = std::max<size_t>(bytes, 1);
  Block block;
  block.bytes = bytes;
  shm::Arena& arena = runtime().job.arena;
  // More than there is would be found missing only when it is touched: the system refuses that at once.
  if (arena.usable() && bytes < os::machine_memory_bytes()) {
    memory = arena_blocks_.allocate(arena, bytes, alignment);
    block.in_arena = memory != nullptr;
  }
  if (!block.in_arena) memory = ordinary_memory(bytes, alignment);
  if (memory == nullptr) {
    return fail(MPI_ERR_NO_MEM, "the system does not give %zu bytes of memory, aligned to %zu", bytes,
                alignment);
  }
  try {
    blocks_.emplace(memory, block);
  } catch (...) {
    if (block.in_arena) {
      arena_blocks_.free(arena, static_cast<std::byte*>(memory), bytes);
    } else {
      std::free(memory);
    }
    throw;
  }
  return {};
}

Status MemoryFromMpi::free(void* memory) {
  // What other libraries give for zero bytes, and take back.
  if (memory == nullptr) return {};
  const auto place = blocks_.find(memory);
  if (place == blocks_.end()) {
    return fail(
        MPI_ERR_BASE,
        "%p is not the address of memory that MPI_Alloc_mem gave. Likely cause: it was freed before, or "
        "comes from malloc",
        memory);
  }
  const Block block = place->second;
  blocks_.erase(place);
  if (block.in_arena) {
    arena_blocks_.free(runtime().job.arena, static_cast<std::byte*>(memory), block.bytes);
  } else {
    std::free(memory);
  }
  return {};
}

}  // namespace hearth::abi
