// How the ranks of several machines come to have one transport: each opens the network, the launcher's server
// carries the addresses. Called once when the library starts, by the thread that starts it.
#pragma once

#include "abi/runtime.h"
#include "base/status.h"

namespace hearth::abi {

/// Makes run.transport: of shared memory, and where the job is on several machines of that and the network.
Status make_transport(Runtime& run);
/// A process cannot be reached any more, as another one says. Ends the job, or makes calls return errors.
void hear_of_lost_rank(p2p::PeerIndex process, p2p::PeerIndex from);

}  // namespace hearth::abi
