// Connects the program's heap to the arena, if mpiexec was asked for a shared heap. Called by the first user
// of MPI, once the arena is mapped.
#pragma once

#include "shm/arena.h"

namespace hearth::abi {

/// Lets the heap that mpiexec has preloaded, if any, allocate from this rank's arena slice. Programs that
/// this process starts from now on get an ordinary heap. Returns nullptr, or why a requested shared heap
/// stays private.
const char* share_heap(shm::Arena& arena);

}  // namespace hearth::abi
