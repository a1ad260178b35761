// Requests: operations under way (MPI 5.0 section 3.7).
//
// A request is made by a non-blocking or persistent call, advanced by the progress engine, and taken by
// Wait, Test or Request_free. All under the library's lock.
#pragma once

#include "base/counts.h"
#include "base/status.h"
#include "datatype/type.h"
#include "mpi.h"
#include "objects/comm.h"
#include "objects/object.h"

namespace hearth::p2p {

enum class RequestKind : uint8_t {
  send, receive, generalized, collective, buffer_flush,
  completed  // a send that was over before its call returned; one shared object stands for all
};

enum class SendMode : uint8_t { standard, synchronous, ready, buffered };

struct Request;

/// What a kind of request that point-to-point does not know (generalized, collective schedule) brings along.
struct RequestHooks {
  /// Moves the operation on; sets request.complete when it is over. May be nullptr.
  void (*advance)(Request&) = nullptr;
  /// Starts a persistent operation.
  Status (*start)(Request&) = nullptr;
  /// Fills the status of a complete operation (generalized requests ask the user).
  Status (*query)(Request&, MPI_Status&) = nullptr;
  Status (*cancel)(Request&) = nullptr;
  /// Called once when the request object goes away.
  Status (*release)(Request&) = nullptr;
};

struct Request : objects::Object {
  RequestKind kind = RequestKind::send;
  SendMode mode = SendMode::standard;
  bool complete = false;
  bool persistent = false;
  bool active = true;         // a persistent request is inactive until it is started
  bool cancelled = false;
  bool handle_freed = false;  // Request_free was called; the engine destroys it on completion
  int tag = 0;
  objects::PeerIndex peer = 0;  // or MPI_ANY_SOURCE, MPI_PROC_NULL
  uint32_t context = 0;

  void* buffer = nullptr;
  Count count = 0;
  datatype::Type* type = nullptr;   // one reference held while the operation is under way
  objects::Comm* comm = nullptr;    // likewise; null for requests without one

  // The outcome, valid once complete.
  Status outcome;
  objects::PeerIndex from = 0;      // receive: who sent it
  int received_tag = 0;
  int64_t received_bytes = 0;

  const RequestHooks* hooks = nullptr;
  void* state = nullptr;            // the hooks' own
};

}  // namespace hearth::p2p
