#include "abi/memory.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "abi/memory_wish.h"
#include "abi/runtime.h"
#include "base/os_memory.h"
#include "mpi.h"

namespace hearth::abi {
namespace {

void* ordinary_memory(size_t bytes, size_t alignment) {
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
}

size_t to_pages(size_t bytes) {
  return (bytes + os::page_bytes() - 1) / os::page_bytes() * os::page_bytes();
}

}  // namespace

Status MemoryFromMpi::place(const Block& block, void* memory, const MemoryWish& wish) {
  if (os::prefer_node(memory, block.bytes, wish.node, true) || errno != EINVAL || !wish.by_number) return {};
  return fail(
      MPI_ERR_INFO_VALUE,
      "hearth_memory_bind is \"%d\": the system has no such memory node, or does not let this process "
      "have it",
      wish.node);
}

Status MemoryFromMpi::allocate(size_t bytes, const objects::Info* info, void*& memory) {
  MemoryWish wish;
  HEARTH_TRY(read_memory_wish(info, shm::node().block().memory, wish));
  size_t alignment = std::max(shm::kBlockAlignment, wish.alignment);
  bytes = std::max<size_t>(bytes, 1);
  Block block;
  block.placed = wish.node >= 0;
  if (block.placed && bytes < PTRDIFF_MAX) {
    bytes = to_pages(bytes);  // nodes are chosen page by page
    alignment = std::max(alignment, os::page_bytes());
  }
  block.bytes = bytes;
  shm::Arena& arena = runtime().job.arena;
  // A size beyond the machine's memory would fail only when it is touched; the system's allocator refuses it.
  if (arena.usable() && bytes < os::machine_memory_bytes()) {
    memory = arena_blocks_.allocate(arena, bytes, alignment);
    block.in_arena = memory != nullptr;
  }
  if (!block.in_arena) memory = ordinary_memory(bytes, alignment);
  if (memory == nullptr) {
    return fail(MPI_ERR_NO_MEM, "the system does not give %zu bytes of memory, aligned to %zu", bytes,
                alignment);
  }
  Status status;
  try {
    if (block.placed) status = place(block, memory, wish);
    if (status.ok()) blocks_.emplace(memory, block);
  } catch (...) {
    release(block, memory);
    throw;
  }
  if (!status.ok()) {
    release(block, memory);
    memory = nullptr;
  }
  return status;
}

void MemoryFromMpi::release(const Block& block, void* memory) {
  shm::Arena& arena = runtime().job.arena;
  auto* const from = static_cast<std::byte*>(memory);
  if (block.placed) {
    // Frees the pages, so that the next user of the addresses gets memory on the default node.
    if (block.in_arena) arena.give_back(from, block.bytes);
    os::prefer_node(memory, block.bytes, block.in_arena ? shm::node().block().memory.arena : -1);
  }
  if (block.in_arena) {
    arena_blocks_.free(arena, from, block.bytes);
  } else {
    std::free(memory);
  }
}

Status MemoryFromMpi::free(void* memory) {
  // Other libraries return nullptr for zero bytes, and accept it here.
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
  release(block, memory);
  return {};
}

}  // namespace hearth::abi
