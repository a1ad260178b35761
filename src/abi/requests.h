// What the binding functions share about requests.
#pragma once

#include "base/status.h"
#include "datatype/type.h"
#include "mpi.h"
#include "objects/comm.h"
#include "p2p/engine.h"

namespace hearth::abi {

/// Notes the communicator that a request works on: its error handler counts, and its ranks go into the
/// status.
inline void belong_to(p2p::Request* request, objects::Comm& comm) {
  if (request->kind == p2p::RequestKind::completed) return;
  request->comm = &comm;
  ++comm.references;
}

/// MPI_BYTE.
datatype::Type& byte_type();

/// A complete receive from MPI_PROC_NULL.
Status receive_from_nobody(p2p::Request*& request);
/// What a complete request reports, without taking it.
Status outcome_of(p2p::Request& request, MPI_Status* status);
/// Takes the outcome of a complete request: fills the status (unless nullptr), then gives the request back
/// and sets it to nullptr or, when it is persistent, makes it inactive. An error is raised on the request's
/// communicator.
Status take_outcome(p2p::Request*& request, MPI_Status* status);
/// Waits for a request, fills the status (unless nullptr), gives the request back or, when it is persistent,
/// makes it inactive. `request` may be nullptr: nothing to wait for.
Status wait_for(p2p::Request*& request, MPI_Status* status);
/// Calls the release hook of a request that is about to go, so that its errors can be told.
Status release_state(p2p::Request& request);
/// Takes back a receive that must not happen any more.
void abandon(p2p::Request*& request);
/// Source, tag, bytes and cancellation of a send or receive that is over.
void fill_status(const p2p::Request& request, MPI_Status* status);
/// One request that is over when both are; `copy`, from malloc, is freed then. Its status is the receive's.
Status pair_up(p2p::Request* receiving, p2p::Request* sending, void* copy, p2p::Request*& request);

}  // namespace hearth::abi
