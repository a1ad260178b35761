// Memory that MPI gives to the program: MPI_Alloc_mem, and what windows allocate. It lies in the arena, where
// every other rank reaches it (shm/arena.h), or, without one, is ordinary memory. Called under the library's
// lock.
#pragma once

#include <cstddef>
#include <unordered_map>

#include "base/status.h"
#include "objects/info.h"
#include "shm/arena_blocks.h"

namespace hearth::abi {

class MemoryFromMpi {
 public:
  /// At least one byte, aligned to 64 and to what the info key mpi_minimum_memory_alignment asks for (MPI 5.0
  /// section 9.2); MPI_ERR_NO_MEM, MPI_ERR_INFO_VALUE.
  Status allocate(size_t bytes, const objects::Info* info, void*& memory);
  /// MPI_ERR_BASE where the address is not one that allocate() gave.
  Status free(void* memory);

 private:
  struct Block {
    size_t bytes = 0;
    bool in_arena = false;
  };
  shm::ArenaBlocks arena_blocks_;
  std::unordered_map<void*, Block> blocks_;
};

}  // namespace hearth::abi
