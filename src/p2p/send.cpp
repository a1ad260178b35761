// Sending: in the ring if possible, otherwise by rendezvous, or in the peer's backlog.
#include <new>

#include "datatype/lifetime.h"
#include "mpi.h"
#include "p2p/engine.h"

namespace hearth::p2p {

Status Engine::send(const void* buffer, Count count, const datatype::Type& type, PeerIndex to, int tag,
                    uint32_t context, SendMode mode) {
  Request* request = nullptr;
  HEARTH_TRY(isend(buffer, count, const_cast<datatype::Type&>(type), to, tag, context, request, mode));
  return request == requests_.completed_send() ? Status() : wait(request);
}

Status Engine::isend(const void* buffer, Count count, datatype::Type& type, PeerIndex to, int tag,
                     uint32_t context, Request*& request, SendMode mode) {
  request = requests_.completed_send();
  if (__builtin_expect(failures_.any(), 0)) HEARTH_TRY(failures_.check({context, to, tag}));
  pairs_.know(to);
  const auto bytes = static_cast<uint64_t>(count * type.size);
  if (mode != SendMode::synchronous) {
    Status status;
    if (eager_.send(buffer, type, bytes, to, match_word(context, tag), status)) return {};
    HEARTH_TRY(status);
  }
  if (__builtin_expect(profile_.active(), 0)) profile_.count_call(bytes);
  Request* made =
      requests_.create(RequestKind::send, const_cast<void*>(buffer), count, type, MatchKey{context, to, tag});
  if (made == nullptr) return requests_.too_many();
  made->mode = mode;
  datatype::retain(type);
  start_send(*made);
  request = made;
  return {};
}

void Engine::start(Request& request) {
  request.complete = false;
  request.active = true;
  request.cancelled = false;
  request.outcome = {};
  const bool sends = request.kind == RequestKind::send;
  if (__builtin_expect(failures_.any(), 0)) {
    const Status status = failures_.check(request.key);
    if (!status.ok()) {
      return sends ? requests_.complete(request, status)
                   : requests_.end_receive(request, request.key.peer, status);
    }
  }
  if (sends) {
    start_send(request);
  } else {
    post(request);
  }
}

void Engine::start_send(Request& request) {
  requests_.begin_send(request);
  if (!eager_.has_backlog(request.key.peer) && try_start_send(request)) return;
  eager_.add_to_backlog(request);
}

bool Engine::try_start_send(Request& request) {
  const PeerIndex to = request.key.peer;
  const auto bytes = static_cast<uint64_t>(request.count * request.type->size);
  const uint64_t ring_bytes_max = pairs_.know(to).protocol.ring_bytes_max;
  const bool held = eager_.is_flow_blocked(to);
  return held || bytes > ring_bytes_max ? sends_.start(request, held) : eager_.start(request);
}

bool Engine::serve_backlogs() try {
  return eager_.serve_backlogs([this](Request& request) { return try_start_send(request); });
} catch (const std::bad_alloc&) {
  errors_.out_of_memory("a message that waited for room in the ring");
}

}  // namespace hearth::p2p
