// Receiving: packets match posted receives, or join the unexpected queue.
#include <new>

#include "base/copy.h"
#include "datatype/lifetime.h"
#include "mpi.h"
#include "p2p/engine.h"
#include "p2p/inline_path.h"
#include "p2p/wait_diagnostics.h"

namespace hearth::p2p {

Status Engine::receive(void* buffer, Count count, const datatype::Type& type, PeerIndex from, int tag,
                       uint32_t context, Received* received) {
  const int64_t room = count * type.size;
  if (from >= 0 && tag != MPI_ANY_TAG && type.contiguous) {
    uint64_t bytes = 0;
    if (eager_.receive(static_cast<std::byte*>(buffer) + type.true_lower_bound, static_cast<uint64_t>(room),
                       from, match_word(context, tag), bytes)) {
      if (received != nullptr) *received = {from, tag, static_cast<int64_t>(bytes)};
      return {};
    }
  }
  if (__builtin_expect(profile_.active(), 0)) profile_.count_call(static_cast<uint64_t>(room));
  Request* request = nullptr;
  HEARTH_TRY(ireceive(buffer, count, const_cast<datatype::Type&>(type), from, tag, context, request));
  if (!request->complete) {
    wait_until([request] { return request->complete; },
               [request](WaitDiagnostics& note) { note.request(*request); });
  }
  if (__builtin_expect(request->queued, 0)) {
    // Left posted by stall_receives(). A blocking receive ends here with the error; only a non-blocking one
    // may continue after its caller has seen the failure.
    matching_.posted().remove(*request);
    const Status failure = failures_.check_source(from, context);
    request->outcome = failure.ok() ? failures_.reworded(*request) : failure;
  }
  if (received != nullptr) *received = {request->from, request->received_tag, request->received_bytes};
  const Status outcome = request->outcome;
  requests_.destroy(request);
  return outcome;
}

Status Engine::ireceive(void* buffer, Count count, datatype::Type& type, PeerIndex from, int tag,
                        uint32_t context, Request*& request) {
  if (__builtin_expect(failures_.any(), 0)) {
    HEARTH_TRY(failures_.revoked(context) != nullptr ? failures_.check_source(from, context) : Status());
  }
  Request* made = requests_.create(RequestKind::receive, buffer, count, type, MatchKey{context, from, tag});
  if (__builtin_expect(made == nullptr, 0)) return requests_.too_many();
  datatype::retain(type);
  post(*made);
  request = made;
  return {};
}

void Engine::post(Request& request) {
  if (UnexpectedMessage* message = matching_.post(request); message != nullptr) deliver(request, message);
}

void Engine::start_matched(Request& request, UnexpectedMessage* message) {
  deliver(request, message);
}

bool Engine::cancel(Request& request) {
  if (request.kind != RequestKind::receive || !request.queued) return false;
  matching_.posted().remove(request);
  request.cancelled = true;
  request.from = MPI_ANY_SOURCE;
  request.received_tag = MPI_ANY_TAG;
  request.received_bytes = 0;
  requests_.complete(request, {});
  return true;
}

// Packets.

[[gnu::hot]] void Engine::handle(void* engine_address, PeerIndex from, const shm::PacketHeader& header,
                                 const std::byte* payload) try {
  Engine& engine = *static_cast<Engine*>(engine_address);
  if (__builtin_expect(header.kind() == static_cast<uint8_t>(PacketKind::eager) &&
                           header.bytes() <= engine.eager_.packet_bytes_max(),
                       1)) {
    return engine.eager_.on_packet(from, header, payload);
  }
  const Handler handler = header.kind() < kPacketKinds ? handlers[header.kind()] : nullptr;
  if (handler == nullptr || !handler(engine, from, header, payload))
    engine.damage_.report(from, header, engine.failures_.any());
} catch (const std::bad_alloc&) {
  // The packet may be half processed, and it will not be sent again.
  static_cast<Engine*>(engine_address)->errors_.out_of_memory("a packet", header.bytes(), from);
}

// The other kinds of packets.

// A packet without a payload that answers a send of this process.
template <bool (LongSends::*function)(Request&)>
bool Engine::on_answer(Engine& engine, PeerIndex from, const shm::PacketHeader& header, const std::byte*) {
  Request* request = engine.requests_.find_send(header.cookie(), from);
  return request != nullptr && (engine.sends_.*function)(*request);
}

bool Engine::on_cooperative_request(PeerIndex from, const shm::PacketHeader& header,
                                    const std::byte* payload) {
  Request* request = requests_.find_send(header.cookie(), from);
  if (__builtin_expect(failures_.any(), 0) && request == nullptr) {
    // The receiver that asked for a write waits for an answer before it releases its buffer.
    if (header.flags() & kAlone) answers_.send(from, PacketKind::written, kNotWritten, header.cookie());
    return true;
  }
  return request != nullptr && header.bytes() == sizeof(CooperativeRequest) &&
         sends_.on_cooperative_request(*request, header.flags(), payload);
}

// By PacketKind. A null payload marks a packet of the transport itself.
const std::array<Engine::Handler, kPacketKinds> Engine::handlers = {
    nullptr,
    nullptr,  // eager: longer than any packet
    [](Engine& engine, PeerIndex from, const shm::PacketHeader& header, const std::byte* payload) {
      if (header.bytes() != rendezvous_bytes(header.flags())) return false;
      engine.receives_.on_rendezvous(from, header, payload);
      return true;
    },
    [](Engine& engine, PeerIndex from, const shm::PacketHeader& header, const std::byte* payload) {
      Fragment fragment = {};
      if (header.bytes() == sizeof fragment) copy_bytes(&fragment, payload, sizeof fragment);
      if (fragment.bytes == 0) return false;
      engine.receives_.on_buffered_fragment(from, header.cookie(), fragment);
      return true;
    },
    [](Engine& engine, PeerIndex from, const shm::PacketHeader& header, const std::byte* payload) {
      if (header.bytes() > engine.eager_.packet_bytes_max()) return false;
      engine.receives_.on_ring_fragment(from, header.cookie(), payload, header.bytes());
      return true;
    },
    [](Engine& engine, PeerIndex from, const shm::PacketHeader& header, const std::byte*) {
      Request* request = engine.requests_.find_send(header.cookie(), from);
      return request != nullptr && engine.sends_.on_clear_to_send(*request, header.flags());
    },
    &on_answer<&LongSends::on_finished>,
    &on_answer<&LongSends::on_matched>,
    [](Engine& engine, PeerIndex from, const shm::PacketHeader& header, const std::byte* payload) {
      return engine.on_cooperative_request(from, header, payload);
    },
    [](Engine& engine, PeerIndex from, const shm::PacketHeader& header, const std::byte*) {  // written
      return engine.receives_.on_written(from, header.cookie(), header.flags());
    },
    [](Engine& engine, PeerIndex from, const shm::PacketHeader& header, const std::byte*) {
      engine.failure_handler_.on_revoked(from, header.cookie());
      return true;
    },
    [](Engine& engine, PeerIndex from, const shm::PacketHeader& header, const std::byte*) {  // recall
      engine.receives_.on_recall(from, header.cookie());
      return true;
    },
    [](Engine& engine, PeerIndex from, const shm::PacketHeader& header, const std::byte* payload) {
      return payload == nullptr && engine.receives_.on_buffer_came(from, header.cookie());
    },
    [](Engine& engine, PeerIndex from, const shm::PacketHeader& header, const std::byte* payload) {
      return payload == nullptr && on_answer<&LongSends::on_buffer_left>(engine, from, header, payload);
    },
    [](Engine& engine, PeerIndex from, const shm::PacketHeader& header, const std::byte*) {  // died
      engine.failure_handler_.on_died(from, header.cookie());
      return true;
    },
};

void Engine::deliver(Request& request, UnexpectedMessage* message) try {
  const PeerIndex from = message->key.peer;
  const int tag = message->key.tag;
  transport_.add_unexpected_bytes(from, -message->memory_bytes());
  if (profile_.active()) {
    profile_.expected(message->stream == nullptr ? static_cast<size_t>(message->bytes) : 0);
  }
  if (message->flags & kSynchronous) answers_.send(from, PacketKind::matched, 0, message->cookie);
  if (message->stream != nullptr) {
    ReceiveStream& stream = *message->stream;
    message->stream = nullptr;
    matching_.destroy(message);
    receives_.attach(stream, request, tag);
    return;
  }
  // deliver() may destroy the request; the message has to stay valid until it returns.
  eager_.deliver(request, from, tag, message->payload, message->bytes);
  matching_.destroy(message);
} catch (const std::bad_alloc&) {
  // The message has left the queue, so the match cannot be repeated.
  errors_.out_of_memory("a message that was matched", sizeof(ReceiveStream), request.from);
}

}  // namespace hearth::p2p
