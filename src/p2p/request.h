// Requests: pending operations (MPI 5.0 section 3.7).
//
// A non-blocking or persistent call creates a request, the progress engine advances it, and Wait, Test or
// Request_free takes it. All under the library's lock.
#pragma once

#include "base/counts.h"
#include "base/status.h"
#include "datatype/type.h"
#include "mpi.h"
#include "objects/comm.h"
#include "objects/object.h"
#include "p2p/match.h"

namespace hearth::p2p {

enum class RequestKind : uint8_t {
  send,
  receive,
  generalized,
  collective,
  buffer_flush,
  one_sided,
  completed  // a send that completed before its call returned; one shared object for all
};

enum class SendMode : uint8_t { standard, synchronous, ready, buffered };

using objects::PeerIndex;

struct Request;
class WaitDiagnostics;

/// Callbacks of request kinds that other layers define (generalized requests, collective schedules).
struct RequestHooks {
  /// Advances the operation; sets request.complete on completion. May be nullptr.
  void (*advance)(Request&) = nullptr;
  /// Starts a persistent operation.
  Status (*start)(Request&) = nullptr;
  /// Fills the status of a complete operation (generalized requests ask the user).
  Status (*query)(Request&, MPI_Status&) = nullptr;
  Status (*cancel)(Request&) = nullptr;
  /// Called once: when a call takes the outcome, which then includes the returned status, or else when the
  /// request object is destroyed.
  Status (*release)(Request&) = nullptr;
  /// Describes what the operation waits for (p2p/wait_diagnostics.h). May be nullptr.
  void (*describe)(const Request&, WaitDiagnostics&) = nullptr;
};

struct SendStream;

/// Pending messages that are awaited together (Engine::entrust), such as a round of a collective.
struct MessageGroup {
  int under_way = 0;
  /// progress() advances the hooks of `owner` when this many are left. Without an owner a caller waits for
  /// `under_way`.
  int wake_at = 0;
  Request* owner = nullptr;
  Status first_error;
};

/// Three cache lines; only the rarer kinds use the last one.
struct alignas(64) Request : objects::Object, MatchEntry {
  explicit Request(RequestKind of_kind)
      : kind(of_kind), from(0), received_tag(0), received_bytes(0), next(nullptr), state(nullptr) {}
  /// A send or receive. On the critical path of messages, so fields that only complete or queued requests use
  /// stay uninitialized.
  Request(RequestKind of_kind, void* at, Count elements, datatype::Type& of_type, const MatchKey& to_match)
      : MatchEntry(to_match), kind(of_kind), buffer(at), count(elements), type(&of_type) {}

  RequestKind kind;
  SendMode mode = SendMode::standard;
  bool complete = false;
  bool persistent = false;
  bool active = true;  // a persistent request is inactive until it is started
  bool cancelled = false;
  bool handle_freed = false;  // no handle refers to it: the engine destroys it on completion
  bool await_match = false;   // send: completes only after the receiver has matched it
  uint8_t epoch;              // send: part of the cookie in answers; 0 until it may be answered

  // The operation. `key` in the base has its context, peer (or MPI_ANY_SOURCE) and tag.
  void* buffer = nullptr;
  Count count = 0;
  datatype::Type* type = nullptr;  // one reference held for as long as the request lives
  objects::Comm* comm = nullptr;   // likewise; nullptr for requests without one

  // The outcome, valid once complete.
  Status outcome;
  PeerIndex from;  // receive: the sender; MPI_PROC_NULL for none
  int received_tag;
  int64_t received_bytes;

  // Used by the engine.
  Request* next;  // in the backlog of a peer, or among the hooked or the ready requests
  SendStream* send_stream = nullptr;

  const RequestHooks* hooks = nullptr;
  void* state;  // used by the hooks
  MessageGroup* group = nullptr;

  /// Whether this is a receive of MPI_Irecv, in any state: it has a type and a communicator, and is destroyed
  /// when it is taken.
  bool is_plain_receive() const {
    return kind == RequestKind::receive && !persistent && hooks == nullptr && comm != nullptr;
  }
};

/// The first byte of the data of a request whose type and count make them contiguous.
inline std::byte* first_byte(const Request& request) {
  return static_cast<std::byte*>(request.buffer) + request.type->true_lower_bound;
}

}  // namespace hearth::p2p
