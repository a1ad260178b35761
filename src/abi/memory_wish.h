// The memory that the info argument of MPI_Alloc_mem requests: the standard's key and two of Hearth's
// (docs/guide/binding.md).
#pragma once

#include <cstddef>

#include "base/status.h"
#include "objects/info.h"
#include "shm/layout.h"

namespace hearth::abi {

struct MemoryWish {
  size_t alignment = 1;
  int node = -1;           // the system's number of a memory node; -1: this rank's default
  bool by_number = false;  // the user named the node: it must exist
};

/// Reads mpi_minimum_memory_alignment (MPI 5.0 section 9.2), hearth_memory_kind and hearth_memory_bind, and
/// ignores other keys. `memory`: the nodes that the launcher has chosen for this rank. Fails with
/// MPI_ERR_INFO_VALUE.
Status read_memory_wish(const objects::Info* info, const shm::RankMemory& memory, MemoryWish& wish);

}  // namespace hearth::abi
