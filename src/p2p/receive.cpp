// Receiving: packets match posted receives, or join the unexpected queue.
#include <cstdlib>
#include <new>

#include "base/check.h"
#include "base/copy.h"
#include "datatype/lifetime.h"
#include "mpi.h"
#include "p2p/engine.h"
#include "p2p/inline_path.h"
#include "p2p/wait_diagnostics.h"
#include "profile/recorder.h"
#include "shm/corruption.h"

namespace hearth::p2p {
namespace {

// Rounds in which a blocking receive polls only its sender's ring, before it polls everything.
constexpr int kLaneRounds = 64;
// Consecutive messages that may be received from their ring alone, without progress() for other operations.
constexpr int kUnmindedMax = 32;

}  // namespace

// take_inline() for a message of several lines; a function call.
[[gnu::noinline]] bool Engine::take_lines_inline(shm::RingReader& direct_ring, std::byte* to, uint64_t bytes,
                                                 uint64_t match, int call) {
  if (direct_ring.next_slot() == nullptr || !direct_ring.holds(bytes) || unminded_ + 1 >= kUnmindedMax) {
    return false;  // also if progress() is due
  }
  const uint64_t awaited = direct_ring.commit_word(eager_commit(bytes));
  const std::byte* slot = direct_ring.next_slot();
  uint64_t commit;
  for (int round = 0; (commit = shm::RingReader::peek_word(slot)) != awaited; ++round) {
    if (round == kLaneRounds || direct_ring.is_packet(commit)) return false;
    if (deferred_.any()) deferred_.run();
    atomic::cpu_relax();
  }
  if (shm::header_at(slot).match != match) return false;
  ++unminded_;
  copy_bytes(to, shm::payload_at(slot), bytes);
  direct_ring.consume(bytes);
  if (__builtin_expect(recorder_ != nullptr, 0)) {
    if (call == kCountedCall) ++posted_lines_;
    profile::count_call_of(call, bytes);
  }
  return true;
}

// Receives a message of any length inside the ring if both queues are empty: then the next packet of this
// sender is the message, if it matches. Polls for a bounded number of rounds; false if nothing was received.
bool Engine::receive_from_direct_ring(void* buffer, Count count, const datatype::Type& type, PeerIndex from,
                                      int tag, uint32_t context, int64_t& bytes) {
  if (!matching_.posted().empty() || !matching_.unexpected().empty() || from < 0 || tag == MPI_ANY_TAG ||
      !type.contiguous)
    return false;
  Peer& peer = peers_[static_cast<size_t>(from)];
  shm::RingReader* direct_ring = peer.direct_ring_from;
  if (direct_ring == nullptr) return false;
  // Other operations have to advance even if every receive succeeds here, so progress() is called at
  // intervals. receive_inline() falls back to this function once per quarter of the ring.
  const bool at_turn =
      __builtin_expect(peer.profiled, 0) ? stops_of_itself(peer) : direct_ring->next_slot() == nullptr;
  if (__builtin_expect(at_turn || ++unminded_ == kUnmindedMax, 0)) {
    unminded_ = 0;
    progress();
    if (peer.profiled) expect_receive_sample(peer);
    if (!matching_.unexpected().empty()) return false;
  }
  const int64_t room = count * type.size;
  std::byte* line = direct_ring->peek();
  for (int round = 0; line == nullptr; line = direct_ring->peek()) {
    if (++round == kLaneRounds) return false;
    if (deferred_.any()) deferred_.run();
    atomic::cpu_relax();
  }
  const shm::PacketHeader header = shm::header_at(line);
  if (header.kind() != static_cast<uint8_t>(PacketKind::eager) || header.flags() != 0 ||
      header.match != match_word(context, tag)) {
    return false;
  }
  auto* to = static_cast<std::byte*>(buffer) + type.true_lower_bound;
  bytes = header.bytes();
  if (__builtin_expect(!direct_ring->holds(static_cast<size_t>(bytes)), 0)) direct_ring->refuse(header);
  if (bytes == room) {
    // The usual case, separate: the length is known without the header, so the processor loads the further
    // lines while the header is still in transit.
    copy_bytes(to, shm::payload_at(line), static_cast<size_t>(room));
  } else if (bytes < room && static_cast<size_t>(bytes) <= packet_bytes_max_) {
    copy_bytes(to, shm::payload_at(line), static_cast<size_t>(bytes));
  } else {
    return false;
  }
  direct_ring->consume(static_cast<size_t>(bytes));
  if (peer.profiled) sample_receive(peer, static_cast<uint64_t>(bytes));
  return true;
}

Status Engine::receive(void* buffer, Count count, const datatype::Type& type, PeerIndex from, int tag,
                       uint32_t context, Received* received) {
  if (int64_t bytes = 0; receive_from_direct_ring(buffer, count, type, from, tag, context, bytes)) {
    if (received != nullptr) *received = {from, tag, bytes};
    return {};
  }
  if (recorder_ != nullptr) profile::count_frequent_call(static_cast<uint64_t>(count * type.size));
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

// Packets. The first three functions handle a short message whose receive is posted.

inline void Engine::deliver_bytes(Request& request, PeerIndex from, int tag, const std::byte* payload,
                                  int64_t bytes) {
  const datatype::Type& type = *request.type;
  const int64_t room = request.count * type.size;
  const auto fitting = static_cast<size_t>(bytes <= room ? bytes : room);
  if (__builtin_expect(type.contiguous, 1)) {
    copy_bytes(static_cast<std::byte*>(request.buffer) + type.true_lower_bound, payload, fitting);
  } else {
    datatype::unpack(type, request.buffer, 0, payload, fitting);
  }
  requests_.complete_receive(request, from, tag, bytes);
}

inline void Engine::on_eager(PeerIndex from, const shm::PacketHeader& header, const std::byte* payload) {
  const MatchKey key = {context_of(header.match), from, tag_of(header.match)};
  if (__builtin_expect(peers_[static_cast<size_t>(from)].direct_ring_from == nullptr, 0)) {
    if (!fast_path_disabled_) meet(from, header.bytes(), key.tag);
  }
  if (MatchEntry* entry = matching_.posted().take(key); __builtin_expect(entry != nullptr, 1)) {
    if (__builtin_expect(header.flags() & kSynchronous, 0)) {
      answers_.send(from, PacketKind::matched, 0, header.cookie());
    }
    deliver_bytes(static_cast<Request&>(*entry), from, key.tag, payload, header.bytes());
    return;
  }
  keep_unexpected(key, header, payload);
}

[[gnu::hot]] void Engine::handle(void* engine_address, PeerIndex from, const shm::PacketHeader& header,
                                 const std::byte* payload) try {
  Engine& engine = *static_cast<Engine*>(engine_address);
  if (__builtin_expect(header.kind() == static_cast<uint8_t>(PacketKind::eager) &&
                           header.bytes() <= engine.packet_bytes_max_,
                       1)) {
    return engine.on_eager(from, header, payload);
  }
  const Handler handler = header.kind() < kPacketKinds ? handlers[header.kind()] : nullptr;
  if (handler == nullptr || !handler(engine, from, header, payload)) engine.on_corruption(from, header);
} catch (const std::bad_alloc&) {
  // The packet may be half processed, and it will not be sent again.
  static_cast<Engine*>(engine_address)->errors_.out_of_memory("a packet", header.bytes(), from);
}

// The other kinds of packets.

// A packet that concerns a send of this process and whose header says all.
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
    [](Engine& engine, PeerIndex from, const shm::PacketHeader& header, const std::byte* payload) {  // cells
      CellPart part = {};
      if (header.bytes() == sizeof part) copy_bytes(&part, payload, sizeof part);
      if (part.bytes == 0) return false;
      engine.receives_.on_part(from, header.cookie(), part);
      return true;
    },
    [](Engine& engine, PeerIndex from, const shm::PacketHeader& header, const std::byte* payload) {
      if (header.bytes() > engine.packet_bytes_max_) return false;
      engine.receives_.on_fragment(from, header.cookie(), payload, header.bytes());
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
      engine.on_revoked(from, header.cookie());
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
      engine.on_died(from, header.cookie());
      return true;
    },
};

// Only a stray write into the shared segment produces an invalid packet. An answer that refers to no pending
// send is dropped, because no operation waits for it. Any other invalid packet ends the job, because the
// message that it replaced would be missing.
void Engine::on_corruption(PeerIndex from, const shm::PacketHeader& header) {
  if (!is_answer(header.kind())) {
    shm::report_corruption("rank %d's packet to rank %d, of kind %u and %u bytes, is none that there is",
                           from, self_, unsigned{header.kind()}, unsigned{header.bytes()});
  }
  // After a failure, answers to the sends that it ended are expected.
  if (corruption_reported_ || failures_.any()) return;
  corruption_reported_ = true;
  static_cast<void>(
      fail(MPI_ERR_INTERN,
           "process %d found a damaged packet from process %d (commit word %#llx). Likely cause: a "
           "stray write by one of the two programs into the shared segment",
           self_, from, static_cast<unsigned long long>(header.commit)));
  warn_(last_failure_text());
}

void Engine::keep_unexpected(const MatchKey& key, const shm::PacketHeader& header, const std::byte* payload) {
  const UnexpectedMessage* message = matching_.add(key, header, payload);
  if (message == nullptr) errors_.out_of_memory("an unexpected message", header.bytes(), key.peer);
  transport_.add_unexpected_bytes(key.peer, message->memory_bytes());
  if (recorder_ != nullptr) recorder_->unexpected(matching_.unexpected().size(), header.bytes());
}

void Engine::deliver(Request& request, UnexpectedMessage* message) try {
  const PeerIndex from = message->key.peer;
  const int tag = message->key.tag;
  transport_.add_unexpected_bytes(from, -message->memory_bytes());
  if (recorder_ != nullptr)
    recorder_->expected(message->stream == nullptr ? static_cast<uint64_t>(message->bytes) : 0);
  if (message->flags & kSynchronous) answers_.send(from, PacketKind::matched, 0, message->cookie);
  if (message->stream != nullptr) {
    ReceiveStream& stream = *message->stream;
    message->stream = nullptr;
    matching_.destroy(message);
    receives_.attach(stream, request, tag);
    return;
  }
  // deliver_bytes() may destroy the request; the message has to stay valid until it returns.
  deliver_bytes(request, from, tag, message->payload, message->bytes);
  matching_.destroy(message);
} catch (const std::bad_alloc&) {
  // The message has left the queue, so the match cannot be repeated.
  errors_.out_of_memory("a message that was matched", sizeof(ReceiveStream), request.from);
}

void Engine::discard(UnexpectedMessage* message) {
  matching_.remove(*message);
  transport_.add_unexpected_bytes(message->key.peer, -message->memory_bytes());
  if (message->stream != nullptr) receives_.drop(*message->stream);
  matching_.destroy(message);
}

// Probing.

bool Engine::has_come(PeerIndex from, int tag, uint32_t context, Received& received) {
  if (__builtin_expect(failures_.any(), 0) && failures_.revoked(context) != nullptr) return false;
  const UnexpectedMessage* message = matching_.find({context, from, tag});
  if (message == nullptr) return false;
  received = {message->key.peer, message->key.tag, message->bytes};
  return true;
}

bool Engine::iprobe(PeerIndex from, int tag, uint32_t context, Received& received) {
  if (has_come(from, tag, context, received)) return true;
  const MatchKey key = {context, from, tag};
  probed_for_ = &key;
  const bool moved = progress_once();
  probed_for_ = nullptr;
  return moved && has_come(from, tag, context, received);
}

Status Engine::probe(PeerIndex from, int tag, uint32_t context, Received& received) {
  const MatchKey key = {context, from, tag};
  const UnexpectedMessage* message = nullptr;
  Status status;
  wait_until(
      [&] {
        status = {};
        message = matching_.find(key);
        if (__builtin_expect(failures_.any(), 0) &&
            (message == nullptr || failures_.revoked(context) != nullptr)) {
          status = failures_.check_source(from, context);
        }
        return message != nullptr || !status.ok();
      },
      [&key](WaitDiagnostics& note) { note.probe(key); });
  HEARTH_TRY(status);
  received = {message->key.peer, message->key.tag, message->bytes};
  return {};
}

UnexpectedMessage* Engine::improbe(PeerIndex from, int tag, uint32_t context, Received& received) {
  if (!iprobe(from, tag, context, received)) return nullptr;
  return matching_.take({context, from, tag});
}

Status Engine::mprobe(PeerIndex from, int tag, uint32_t context, Received& received,
                      UnexpectedMessage*& message) {
  HEARTH_TRY(probe(from, tag, context, received));
  message = matching_.take({context, from, tag});
  return {};
}

}  // namespace hearth::p2p
