// The program's heap in the window of the arena, where mpiexec was asked for it. Called by the first user of
// MPI, once the arena is at its place.
#pragma once

#include "shm/arena.h"

namespace hearth::abi {

/// Opens the heap that mpiexec preloaded, if it did, to the window. Programs that this process starts from
/// now on get a heap of the usual kind. nullptr, or why an asked-for heap stays private.
const char* share_heap(shm::Arena& arena);

}  // namespace hearth::abi
