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
#include "p2p/match.h"

namespace hearth::p2p {

enum class RequestKind : uint8_t {
  send,
  receive,
  generalized,
  collective,
  buffer_flush,
  one_sided,
  completed  // a send that was over before its call returned; one shared object stands for all
};

enum class SendMode : uint8_t { standard, synchronous, ready, buffered };

using objects::PeerIndex;

struct Request;
class WaitNote;

/// What a kind of request that point-to-point does not know (generalized, collective schedule) brings along.
struct RequestHooks {
  /// Moves the operation on; sets request.complete when it is over. May be nullptr.
  void (*advance)(Request&) = nullptr;
  /// Starts a persistent operation.
  Status (*start)(Request&) = nullptr;
  /// Fills the status of a complete operation (generalized requests ask the user).
  Status (*query)(Request&, MPI_Status&) = nullptr;
  Status (*cancel)(Request&) = nullptr;
  /// Called once when the request object goes away; before that when a call takes its outcome, which then
  /// includes what this returns.
  Status (*release)(Request&) = nullptr;
  /// Says what the operation waits for (p2p/wait_note.h). May be nullptr.
  void (*describe)(const Request&, WaitNote&) = nullptr;
};

struct SendStream;

/// Messages under way that are awaited together, not one by one (Engine::entrust): the rounds of a
/// collective.
struct MessageGroup {
  int under_way = 0;
  /// When so few are left, the hooks of `owner` are advanced by progress(); without an owner somebody waits
  /// for `under_way`.
  int wake_at = 0;
  Request* owner = nullptr;
  Status first_error;
};

/// Three lines, of which the last is for the rarer kinds.
struct alignas(64) Request : objects::Object, MatchEntry {
  explicit Request(RequestKind of_kind)
      : kind(of_kind), from(0), received_tag(0), received_bytes(0), next(nullptr), state(nullptr) {}
  /// A send or receive. On the path of every message: what only a complete or queued one has is left alone.
  Request(RequestKind of_kind, void* at, Count elements, datatype::Type& of_type, const MatchKey& to_match)
      : MatchEntry(to_match), kind(of_kind), buffer(at), count(elements), type(&of_type) {}

  RequestKind kind;
  SendMode mode = SendMode::standard;
  bool complete = false;
  bool persistent = false;
  bool active = true;  // a persistent request is inactive until it is started
  bool cancelled = false;
  bool handle_freed = false;  // no handle, or none any more: the engine destroys it on completion
  bool await_match = false;   // send: over only when the receiver has matched it
  uint8_t epoch;              // send: a part of what answers call it by, once it may be answered; 0 before

  // The operation. Where it goes or comes from is in the base's `key`: context, peer (or MPI_ANY_SOURCE),
  // tag.
  void* buffer = nullptr;
  Count count = 0;
  datatype::Type* type = nullptr;  // one reference held for as long as the request lives
  objects::Comm* comm = nullptr;   // likewise; nullptr for requests without one

  // The outcome, valid once complete.
  Status outcome;
  PeerIndex from;  // receive: who sent it; MPI_PROC_NULL for none
  int received_tag;
  int64_t received_bytes;

  // The engine's own.
  Request* next;  // in the backlog of a peer, or among the hooked or the ready requests
  SendStream* send_stream = nullptr;

  const RequestHooks* hooks = nullptr;
  void* state;  // the hooks' own
  MessageGroup* group = nullptr;

  /// A receive from MPI_Irecv, whatever has become of it: it has a type and a communicator, and is given back
  /// once it is taken.
  bool is_plain_receive() const {
    return kind == RequestKind::receive && !persistent && hooks == nullptr && comm != nullptr;
  }
};

/// Where the data begin, of a request whose type and count make them one run of bytes.
inline std::byte* first_byte(const Request& request) {
  return static_cast<std::byte*>(request.buffer) + request.type->true_lower_bound;
}

}  // namespace hearth::p2p
