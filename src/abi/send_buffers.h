// Which buffer a buffered send on a communicator uses: the communicator's own, else the process's.
#pragma once

#include "objects/comm.h"
#include "p2p/buffered.h"

namespace hearth::abi {

/// The communicator's own buffer; made empty when there was none.
p2p::SendBuffer& send_buffer_of(objects::Comm& comm);
/// The buffer that a send on `comm` is to use.
p2p::SendBuffer& send_buffer_for(objects::Comm& comm);
/// Waits until every buffered message of this process has left; called by MPI_Finalize.
void flush_all_send_buffers();
/// Waits for and forgets a communicator's own buffer; called when the communicator is freed.
void drop_send_buffer(objects::Comm& comm);

}  // namespace hearth::abi
