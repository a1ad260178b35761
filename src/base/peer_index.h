// The index of a process inside the library.
#pragma once

#include <cstdint>

namespace hearth {

/// A process's rank in MPI_COMM_WORLD, as opposed to its rank in another communicator.
using PeerIndex = int32_t;

}  // namespace hearth
