// Memory that MPI allocates for the program: MPI_Alloc_mem and windows. It lies in the arena, where every
// other rank can access it (shm/arena.h); without an arena, it is ordinary memory. Called under the library's
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
  /// At least one byte, aligned to 64, with the properties that `info` requests (abi/memory_wish.h). Fails
  /// with MPI_ERR_NO_MEM or MPI_ERR_INFO_VALUE.
  Status allocate(size_t bytes, const objects::Info* info, void*& memory);
  /// Fails with MPI_ERR_BASE if the address is not from allocate().
  Status free(void* memory);

 private:
  struct Block {
    size_t bytes = 0;
    bool in_arena = false;
    bool placed = false;  // on a requested memory node; made of whole pages
  };
  static Status place(const Block& block, void* memory, const MemoryWish& wish);
  void release(const Block& block, void* memory);

  shm::ArenaBlocks arena_blocks_;
  std::unordered_map<void*, Block> blocks_;
};

}  // namespace hearth::abi
