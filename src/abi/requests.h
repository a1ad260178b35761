// Functions on requests that the binding functions share.
#pragma once

#include "base/status.h"
#include "datatype/type.h"
#include "mpi.h"
#include "objects/comm.h"
#include "p2p/engine.h"

namespace hearth::abi {

/// Sets the communicator of a request, which determines the error handler and the ranks in the status.
inline void belong_to(p2p::Request* request, objects::Comm& comm) {
  if (request->kind == p2p::RequestKind::completed) return;
  request->comm = &comm;
  ++comm.references;
}

/// The outcome of a message to or from MPI_PROC_NULL: only a revoked communicator makes it fail.
Status without_peer(const objects::Comm& comm);

/// MPI_BYTE.
datatype::Type& byte_type();

/// A complete receive from MPI_PROC_NULL.
Status receive_from_nobody(p2p::Request*& request);
/// The outcome of a complete request, which stays.
Status outcome_of(p2p::Request& request, MPI_Status* status);
/// Takes the outcome of a complete request: fills the status (unless nullptr), then frees the request and
/// sets it to nullptr or, if it is persistent, makes it inactive. An error belongs to the request's
/// communicator.
Status take_outcome(p2p::Request*& request, MPI_Status* status);
/// Waits for a request, then does the same. `request` may be nullptr: there is nothing to wait for.
Status wait_for(p2p::Request*& request, MPI_Status* status);
/// Calls the release hook of a request before it is freed, so that the hook's error can be returned.
Status release_state(p2p::Request& request);
/// Cancels and frees a receive.
void abandon(p2p::Request*& request);
/// Source, tag, bytes and cancellation of a completed send or receive.
void fill_status(const p2p::Request& request, MPI_Status* status);
/// One request that completes when both do; it then frees `copy`, from malloc. Its status is the receive's.
Status pair_up(p2p::Request* receiving, p2p::Request* sending, void* copy, p2p::Request*& request);

}  // namespace hearth::abi
