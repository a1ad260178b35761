// Memory that MPI gives to the program: MPI_Alloc_mem, and what windows allocate. It lies in the arena, where
// every other rank reaches it (shm/arena.h), or, without one, is ordinary memory. Called under the library's
// lock.
#pragma once

#include <cstddef>
#include <unordered_map>

#include "abi/memory_wish.h"
#include "base/status.h"
#include "objects/info.h"
#include "shm/arena_blocks.h"

namespace hearth::abi {

class MemoryFromMpi {
 public:
  /// At least one byte, aligned to 64, and as the info wishes (abi/memory_wish.h); MPI_ERR_NO_MEM,
  /// MPI_ERR_INFO_VALUE.
  Status allocate(size_t bytes, const objects::Info* info, void*& memory);
  /// MPI_ERR_BASE where the address is not one that allocate() gave.
  Status free(void* memory);

 private:
  struct Block {
    size_t bytes = 0;
    bool in_arena = false;
    bool placed = false;  // on a memory node of its own choice; then of whole pages
  };
  static Status place(const Block& block, void* memory, const MemoryWish& wish);
  void release(const Block& block, void* memory);

  shm::ArenaBlocks arena_blocks_;
  std::unordered_map<void*, Block> blocks_;
};

}  // namespace hearth::abi
