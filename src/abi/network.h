// Sets up the transport of a job. On several machines each rank opens the network, and the launcher exchanges
// the endpoint addresses. Called once when the library starts, by the thread that starts it.
#pragma once

#include "abi/runtime.h"
#include "base/status.h"

namespace hearth::abi {

/// Makes run.islands: shared memory and, if the job is on several machines, the network.
Status make_transport(Runtime& run);
/// Process `from` reports that `process` cannot be reached. Ends the job, or makes calls return errors.
void record_lost_rank(p2p::PeerIndex process, p2p::PeerIndex from);

}  // namespace hearth::abi
