// Non-blocking accesses: short ones are done in the call, because a copy from or to the page cache costs less
// than a handover; long ones are moved by a thread (base/os_queue.h), so that they overlap with computation.
#pragma once

namespace hearth::io {

/// Ends the thread. Called when MPI has no user any more; all accesses are complete then.
void stop_queue();

}  // namespace hearth::io
