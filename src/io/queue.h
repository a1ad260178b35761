// Non-blocking accesses: short ones are done in the call, because a copy from or to the page cache costs less
// than queueing it; longer ones are moved by io_uring (base/os_ring.h) or by a thread (base/os_queue.h), so
// that they overlap with computation.
#pragma once

namespace hearth::io {

/// Ends the thread and waits for the ring's transfers. Called when MPI is finalized and has no session left.
void stop_queue();

}  // namespace hearth::io
