// Sending: directly into the ring if possible, otherwise through the peer's backlog.
#include <new>

#include "base/check.h"
#include "base/copy.h"
#include "datatype/lifetime.h"
#include "mpi.h"
#include "p2p/engine.h"
#include "profile/recorder.h"

namespace hearth::p2p {
namespace {

// Shortest payloads in the ring that use the adaptive store policy. The limit is lower for data in many small
// blocks, because the receiver's prefetch can take a line away between two stores to it.
constexpr size_t kFilledBytesMin = 1025;
constexpr size_t kGatheredBytesMin = 129;

}  // namespace

// Most messages of one line are not recorded here, like those of the fast path, and cost as little. The
// profile accounts for them by their number.
inline void Engine::note_in_ring(Peer& peer, size_t bytes, PeerIndex to, int tag) {
  const bool is_frequent = profile::frequent_call >= 0;
  if (is_frequent && bytes <= shm::kLinePayloadBytes && is_unseen(peer)) {
    ProfiledPeer& seen = profiled(peer);
    ++seen.slow_to;
    ++seen.counts->sent_unseen;
    return;
  }
  const Protocol way = bytes > shm::kLinePayloadBytes ? Protocol::lines : Protocol::line;
  const bool sampled = is_frequent && way == Protocol::line && sample_send(peer);
  recorder_->sent(to, static_cast<int>(way), bytes, tag, sampled);
  profile::count_frequent_call(bytes);
}

// Pre: the message fits the ring.
bool Engine::send_in_ring(Peer& peer, const void* buffer, const datatype::Type& type, int64_t bytes,
                          PeerIndex to, uint8_t flags, uint32_t cookie, uint64_t match, Status& status) {
  const auto size = static_cast<size_t>(bytes);
  std::byte* line = transport_.claim(to, size, status);
  if (line == nullptr) return false;
  chaos::at(chaos::Point::packet_claimed);
  if (size < (type.contiguous ? kFilledBytesMin : kGatheredBytesMin) || size <= peer.room_prefetched) {
    datatype::pack(type, buffer, 0, shm::payload_at(line), size);
  } else {
    pairs_.at(to).store_policy.fill(type, buffer, 0, shm::payload_at(line), size);
  }
  chaos::at(chaos::Point::packet_half_written);
  transport_.commit(to, static_cast<uint8_t>(PacketKind::eager), flags, size, cookie, match);
  peer.room_prefetched = 0;
  if (__builtin_expect(peer.profiled, 0)) note_in_ring(peer, size, to, tag_of(match));
  if (size > shm::kLinePayloadBytes) {
    deferred_.sent_in_ring(to, static_cast<uint32_t>(size), peer.room_prefetched);
  }
  if (peer.direct_ring_to == nullptr) peer.direct_ring_to = transport_.direct_ring_to(to);
  return true;
}

// send_inline() for a message of several lines; a function call.
[[gnu::noinline]] bool Engine::send_lines_inline(Peer& peer, const void* buffer, const datatype::Type& type,
                                                 uint64_t bytes, PeerIndex to, uint64_t match, int call) {
  shm::RingWriter& direct_ring = *peer.direct_ring_to;
  std::byte* slot = direct_ring.claim(bytes);
  if (slot == nullptr || direct_ring.unexpected_kib() > unexpected_kib_max_) return false;
  if (bytes < kFilledBytesMin || bytes <= peer.room_prefetched) {
    copy_bytes(shm::payload_at(slot), static_cast<const std::byte*>(buffer) + type.true_lower_bound, bytes);
  } else {
    pairs_.at(to).store_policy.fill(type, buffer, 0, shm::payload_at(slot), bytes);
  }
  direct_ring.commit(static_cast<uint8_t>(PacketKind::eager), 0, bytes, 0, match);
  peer.room_prefetched = 0;
  if (__builtin_expect(peer.profiled, 0)) {
    recorder_->sent(to, static_cast<int>(Protocol::lines), bytes, tag_of(match), false);
    profile::count_call_of(call, bytes);
  }
  deferred_.sent_in_ring(to, static_cast<uint32_t>(bytes), peer.room_prefetched);
  return true;
}

// Whether the peer is flow-blocked: so many bytes of this process are unmatched there that sends have to wait
// for receives.
bool Engine::is_flow_blocked(Peer& peer, PeerIndex to) {
  if (peer.direct_ring_to == nullptr) return transport_.unexpected_kib_at(to) > unexpected_kib_max_;
  if (__builtin_expect(peer.direct_ring_to->unexpected_kib() <= unexpected_kib_max_, 1)) return false;
  peer.direct_ring_to->look();
  return peer.direct_ring_to->unexpected_kib() > unexpected_kib_max_;
}

// Updates the fast-path flag of a peer.
void Engine::update_fast_path(Peer& peer, PeerIndex to) {
  const bool clear = peer.direct_ring_to != nullptr && peer.backlog == nullptr && !failures_.is_dead(to) &&
                     !fast_path_disabled_ && peer.direct_ring_to->unexpected_kib() <= unexpected_kib_max_;
  peer.fast_path = clear;
  peer.ring_bytes_max = pairs_.at(to).protocol.ring_bytes_max;
  if (__builtin_expect(peer.profiled, 0)) expect_sample(peer);
}

Status Engine::send(const void* buffer, Count count, const datatype::Type& type, PeerIndex to, int tag,
                    uint32_t context, SendMode mode) {
  Request* request = nullptr;
  HEARTH_TRY(isend(buffer, count, const_cast<datatype::Type&>(type), to, tag, context, request, mode));
  return request == requests_.completed_send() ? Status() : wait(request);
}

Status Engine::isend(const void* buffer, Count count, datatype::Type& type, PeerIndex to, int tag,
                     uint32_t context, Request*& request, SendMode mode) {
  request = requests_.completed_send();
  if (__builtin_expect(failures_.any(), 0)) HEARTH_TRY(failures_.check_destination(to, context));
  const Pair& pair = pairs_.know(to);
  Peer& peer = peers_[static_cast<size_t>(to)];
  const int64_t bytes = count * type.size;
  if (mode != SendMode::synchronous) {
    if (static_cast<uint64_t>(bytes) <= pair.protocol.ring_bytes_max && peer.backlog == nullptr &&
        !is_flow_blocked(peer, to)) {
      Status status;
      if (send_in_ring(peer, buffer, type, bytes, to, 0, 0, match_word(context, tag), status)) {
        update_fast_path(peer, to);
        return {};
      }
      HEARTH_TRY(status);
    }
  }
  if (__builtin_expect(peer.profiled, 0)) profile::count_frequent_call(static_cast<uint64_t>(bytes));
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
  if (__builtin_expect(failures_.any(), 0)) {
    const bool sends = request.kind == RequestKind::send;
    const Status status = sends ? failures_.check_destination(request.key.peer, request.key.context)
                                : failures_.check_receive(request.key);
    if (!status.ok()) return end_unstarted(request, status);
  }
  if (request.kind == RequestKind::send) {
    start_send(request);
  } else {
    post(request);
  }
}

void Engine::start_send(Request& request) {
  Peer& peer = peers_[static_cast<size_t>(request.key.peer)];
  requests_.begin_send(request);
  if (peer.backlog == nullptr && try_start_send(request)) return;
  request.next = nullptr;
  (peer.backlog != nullptr ? peer.backlog_last->next : peer.backlog) = &request;
  peer.backlog_last = &request;
  update_fast_path(peer, request.key.peer);
  list_waiting(request.key.peer);
}

bool Engine::try_start_send(Request& request) {
  const PeerIndex to = request.key.peer;
  const Pair& pair = pairs_.know(to);
  Peer& peer = peers_[static_cast<size_t>(to)];
  const int64_t bytes = request.count * request.type->size;
  const bool held = is_flow_blocked(peer, to);
  if (held || static_cast<uint64_t>(bytes) > pair.protocol.ring_bytes_max) {
    return sends_.start(request, held);
  }
  const uint8_t flags = request.await_match ? kSynchronous : 0;
  const uint32_t cookie = request.await_match ? requests_.issue_cookie(request) : 0;
  Status status;
  if (!send_in_ring(peer, request.buffer, *request.type, bytes, to, flags, cookie,
                    match_word(request.key.context, request.key.tag), status)) {
    if (status.ok()) return false;
    request.await_match = false;
  }
  if (!request.await_match) requests_.complete_send(request, status);
  return true;
}

// Peers whose ring was full.

void Engine::list_waiting(PeerIndex index) {
  Peer& peer = peers_[static_cast<size_t>(index)];
  if (peer.listed) return;
  peer.listed = true;
  waiting_peers_.push_back(index);
}

bool Engine::serve_waiting_peers() try {
  bool moved = false;
  for (size_t i = 0; i < waiting_peers_.size();) {
    const PeerIndex index = waiting_peers_[i];
    Peer& peer = peers_[static_cast<size_t>(index)];
    while (peer.backlog != nullptr) {
      Request* request = peer.backlog;
      Request* next = request->next;
      if (!try_start_send(*request)) break;  // a started request may be destroyed
      peer.backlog = next;
      moved = true;
    }
    update_fast_path(peer, index);
    if (peer.backlog == nullptr) {
      peer.listed = false;
      waiting_peers_[i] = waiting_peers_.back();
      waiting_peers_.pop_back();
    } else {
      ++i;
    }
  }
  return moved;
} catch (const std::bad_alloc&) {
  errors_.out_of_memory("a message that waited for room in the ring");
}

}  // namespace hearth::p2p
