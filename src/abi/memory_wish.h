// What the info argument of MPI_Alloc_mem asks for: the standard's key and two of our own
// (docs/guide/binding.md).
#pragma once

#include <cstddef>

#include "base/status.h"
#include "objects/info.h"
#include "shm/layout.h"

namespace hearth::abi {

struct MemoryWish {
  size_t alignment = 1;
  int node = -1;           // a memory node of the system's; -1: where memory of this rank lies anyway
  bool by_number = false;  // the user named it, so that it is an error where it is not there
};

/// Reads mpi_minimum_memory_alignment (MPI 5.0 section 9.2), hearth_memory_kind and hearth_memory_bind; other
/// keys are not looked at. `memory` is what the launcher wrote for this rank. MPI_ERR_INFO_VALUE.
Status read_memory_wish(const objects::Info* info, const shm::RankMemory& memory, MemoryWish& wish);

}  // namespace hearth::abi
