// Fast paths of the most frequent calls, compiled into their entry points (rows of api/functions.txt marked
// `inline_path`). They require valid arguments, a single thread, and a message that p2p/inline_path.h can
// send or receive inline. In all other cases, errors included, they return false without side effects, and
// the entry point continues on the regular path. So the checks here need no error messages, and nothing is
// stored on the stack.
//
// MPI 5.0 sections 3.2, 3.7.2, 3.7.3.
#pragma once

#include "abi/entry.h"
#include "abi/status.h"
#include "base/inside.h"
#include "mpi.h"
#include "objects/comm.h"
#include "p2p/inline_path.h"

namespace hearth::abi::inline_path {

using datatype::Type;
using objects::Comm;
using p2p::Request;

// The objects of a message whose handles are valid.
struct Message {
  Comm* comm;
  Type* type;
};

/// False unless these arguments are valid for a message to or from rank `peer`.
[[gnu::always_inline]] inline bool check(const void* buffer, Count count, MPI_Datatype datatype, int peer,
                                         int tag, MPI_Comm comm, Message& message) {
  message = {find<Comm>(comm), find<Type>(datatype)};
  return message.comm != nullptr && usable(message.type) && count >= 0 && is_peer(*message.comm, peer) &&
         tag >= 0 && !is_odd(buffer);
}

/// `call`: the MPI call, for the profile.
[[gnu::always_inline]] inline bool send(const void* buffer, Count count, MPI_Datatype datatype, int dest,
                                        int tag, MPI_Comm comm, Call call = Call::send) {
  if (__builtin_expect(!Inside::is_open(), 0)) return false;
  const InsideShortly inside;
  Message message;
  return check(buffer, count, datatype, dest, tag, comm, message) &&
         p2p::engine().send_inline(buffer, count, *message.type, message.comm->peers[dest], tag,
                                   message.comm->context, static_cast<int>(call));
}

[[gnu::always_inline]] inline bool isend(const void* buffer, Count count, MPI_Datatype datatype, int dest,
                                         int tag, MPI_Comm comm, MPI_Request* request) {
  if (__builtin_expect(request == nullptr || !send(buffer, count, datatype, dest, tag, comm, Call::isend), 0))
    return false;
  *request = reinterpret_cast<MPI_Request>(p2p::engine().requests().completed_send());
  return true;
}

[[gnu::always_inline]] inline bool recv(void* buffer, Count count, MPI_Datatype datatype, int source, int tag,
                                        MPI_Comm comm, MPI_Status* status) {
  if (__builtin_expect(!Inside::is_open(), 0)) return false;
  const InsideShortly inside;
  Message message;
  if (!check(buffer, count, datatype, source, tag, comm, message) ||
      !p2p::engine().receive_inline(buffer, count, *message.type, message.comm->peers[source], tag,
                                    message.comm->context, static_cast<int>(Call::recv))) {
    return false;
  }
  set_status(status, source, tag, count * message.type->size, false);
  return true;
}

[[gnu::always_inline]] inline bool irecv(void* buffer, Count count, MPI_Datatype datatype, int source,
                                         int tag, MPI_Comm comm, MPI_Request* request) {
  if (__builtin_expect(!Inside::is_open(), 0)) return false;
  const InsideShortly inside;
  Message message;
  if (!check(buffer, count, datatype, source, tag, comm, message) || request == nullptr) return false;
  const Request* posted = p2p::engine().post_inline(buffer, count, *message.type, message.comm->peers[source],
                                                    tag, *message.comm);
  if (__builtin_expect(posted == nullptr, 0)) return false;
  if (!is_active_unwatched() && profile::post_is_drawn()) [[unlikely]]
    profile::count_drawn_post(static_cast<int>(Call::irecv), bytes_of(count, datatype));
  *request = reinterpret_cast<MPI_Request>(const_cast<Request*>(posted));
  return true;
}

/// Completes and destroys a send that completed inline, or a successful receive whose message has arrived or
/// arrives within a short poll. False: nothing has been done.
[[gnu::always_inline]] inline bool take(Request& request, MPI_Status* status) {
  p2p::Engine& engine = p2p::engine();
  if (&request == engine.requests().completed_send()) {
    set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false);
    return true;
  }
  if (!request.is_plain_receive()) return false;
  const bool before = request.complete;
  if (before ? !request.outcome.ok() || request.cancelled : !engine.receive_posted_inline(request)) {
    return false;
  }
  if (status != nullptr) {
    // An inline receive has the source, the tag and the length of its request.
    const objects::PeerIndex from = before ? request.from : request.key.peer;
    set_status(status, request.comm->rank_of(from), before ? request.received_tag : request.key.tag,
               before ? request.received_bytes : request.count * request.type->size, false);
  }
  engine.requests().destroy_plain(request);
  return true;
}

[[gnu::always_inline]] inline bool wait(MPI_Request* request, MPI_Status* status) {
  if (__builtin_expect(!Inside::is_open() || request == nullptr, 0)) return false;
  const InsideShortly inside;
  Request* const found = find<Request>(*request);
  if (found == nullptr || !take(*found, status)) return false;
  if (!is_active_unwatched()) [[unlikely]]
    profile::count_call(static_cast<int>(Call::wait));
  *request = MPI_REQUEST_NULL;
  return true;
}

}  // namespace hearth::abi::inline_path

namespace hearth::abi {

/// Called between the call of the out-of-line half of an entry point and its return; prevents a tail call.
/// So the entry's frame stays on the stack, where wait diagnostics find its name (base/os_stack.h).
inline void stay_on_stack() {
  asm volatile("");
}

}  // namespace hearth::abi
