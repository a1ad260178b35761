// How the ranks of several machines come to have one transport: each opens the network, the launcher's server
// carries the addresses. Called once when the library starts, by the thread that starts it.
#pragma once

#include "abi/runtime.h"
#include "base/status.h"

namespace hearth::abi {

/// Makes run.transport: of shared memory, and where the job is on several machines of that and the network.
Status make_transport(Runtime& run);

}  // namespace hearth::abi
