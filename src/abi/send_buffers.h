// Which buffer a buffered send on a communicator uses: the communicator's own, else that of the session that
// it comes from, else the process's (MPI 5.0 section 3.6).
#pragma once

#include "objects/comm.h"
#include "objects/session.h"
#include "p2p/buffered.h"

namespace hearth::abi {

/// The own buffer of a communicator or session; created, without memory, if there is none.
p2p::SendBuffer& send_buffer_of(objects::Comm& comm);
p2p::SendBuffer& send_buffer_of(objects::Session& session);
/// The buffer for a send on `comm`.
p2p::SendBuffer& send_buffer_for(objects::Comm& comm);
/// Waits until every buffered message of this process has been sent; called by MPI_Finalize.
void flush_all_send_buffers();
/// Flushes and removes the own buffer of a communicator that is freed or of a session that ends.
void drop_send_buffer(objects::Comm& comm);
void drop_send_buffer(objects::Session& session);

}  // namespace hearth::abi
