// How processes are named inside the library.
#pragma once

#include <cstdint>

namespace hearth {

/// A process's rank in MPI_COMM_WORLD. Not to be mixed with a rank in some communicator.
using PeerIndex = int32_t;

}  // namespace hearth
