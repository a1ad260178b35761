#include "p2p/eager_path.h"

#include <utility>

#include "base/param.h"
#include "datatype/type.h"
#include "transport/local_path.h"

namespace hearth::p2p {
namespace {

// Shortest payloads in the ring that use the adaptive store policy. The limit is lower for data in many small
// blocks, because the receiver's prefetch can take a line away between two stores to it.
constexpr size_t kFilledBytesMin = 1025;
constexpr size_t kGatheredBytesMin = 129;
// Rounds in which a receive polls only its sender's ring, before it polls everything.
constexpr int kRingRounds = 64;
// Consecutive messages that may be received from their ring alone, without progress for other operations.
constexpr int kReceivesPerProgress = 32;

}  // namespace

EagerPath::EagerPath(const Parts& parts)
    : transport_(parts.transport),
      matching_(parts.matching),
      requests_(parts.requests),
      pairs_(parts.pairs),
      failures_(parts.failures),
      deferred_(parts.deferred),
      answers_(parts.answers),
      errors_(parts.errors),
      profile_(parts.profile),
      progress_(parts.progress),
      owner_(parts.owner),
      unexpected_kib_max_(param::get_bytes(param::Id::p2p_unexpected_bytes_max) >> 10),
      packet_bytes_max_(parts.transport.packet_bytes_max()),
      peers_(parts.pairs.room()) {
  // Each peer is listed once, so listing never allocates.
  waiting_.reserve(static_cast<size_t>(parts.pairs.room().most));
}

// Sending.

// Writes a packet into the ring. Pre: the message fits it. False: there is no room.
bool EagerPath::write(Peer& peer, const void* buffer, const datatype::Type& type, size_t bytes, PeerIndex to,
                      uint8_t flags, uint32_t cookie, uint64_t match, Status& status) {
  std::byte* payload = nullptr;
  if (peer.rings.to == nullptr) {
    payload = transport_.claim(to, bytes, status);
  } else if (std::byte* slot = peer.rings.to->claim(bytes); slot != nullptr) {
    payload = shm::payload_at(slot);
  }
  if (payload == nullptr) return false;
  chaos::at(chaos::Point::packet_claimed);
  if (bytes >= (type.contiguous ? kFilledBytesMin : kGatheredBytesMin) && bytes > peer.room_prefetched) {
    pairs_.at(to).store_policy.fill(type, buffer, 0, payload, bytes);
  } else if (type.contiguous) {
    copy_bytes(payload, static_cast<const std::byte*>(buffer) + type.true_lower_bound, bytes);
  } else {
    datatype::pack(type, buffer, 0, payload, bytes);
  }
  chaos::at(chaos::Point::packet_half_written);
  const auto kind = static_cast<uint8_t>(PacketKind::eager);
  if (peer.rings.to != nullptr) {
    peer.rings.to->commit(kind, flags, bytes, cookie, match);
  } else {
    transport_.commit(to, kind, flags, bytes, cookie, match);
    peer.rings.to = transport_.local_path().direct_ring_to(to);
  }
  peer.room_prefetched = 0;
  if (bytes > shm::kLinePayloadBytes) {
    deferred_.sent_in_ring(to, static_cast<uint32_t>(bytes), peer.room_prefetched);
  }
  return true;
}

bool EagerPath::send(const void* buffer, const datatype::Type& type, uint64_t bytes, PeerIndex to,
                     uint64_t match, Status& status) {
  Peer& its = peer(to);
  if (bytes > pairs_.at(to).protocol.ring_bytes_max || its.backlog != nullptr || is_flow_blocked(to) ||
      !write(its, buffer, type, bytes, to, 0, 0, match, status)) {
    return false;
  }
  if (__builtin_expect(its.profiled, 0)) profile_.sent(to, its.rings, bytes, tag_of(match));
  update_fast_path(to);
  return true;
}

bool EagerPath::send_lines(const void* buffer, const datatype::Type& type, uint64_t bytes, PeerIndex to,
                           uint64_t match, int call) {
  Peer& its = peer(to);
  shm::RingWriter& ring = *its.rings.to;
  std::byte* slot = ring.claim(bytes);
  // After the claim, which may update the credit.
  if (slot == nullptr || ring.unexpected_kib() > unexpected_kib_max_) return false;
  if (bytes < kFilledBytesMin || bytes <= its.room_prefetched) {
    copy_bytes(shm::payload_at(slot), static_cast<const std::byte*>(buffer) + type.true_lower_bound, bytes);
  } else {
    pairs_.at(to).store_policy.fill(type, buffer, 0, shm::payload_at(slot), bytes);
  }
  ring.commit(static_cast<uint8_t>(PacketKind::eager), 0, bytes, 0, match);
  its.room_prefetched = 0;
  if (__builtin_expect(its.profiled, 0)) profile_.sent_lines(to, bytes, tag_of(match), call);
  deferred_.sent_in_ring(to, static_cast<uint32_t>(bytes), its.room_prefetched);
  return true;
}

bool EagerPath::start(Request& request) {
  const PeerIndex to = request.key.peer;
  Peer& its = peer(to);
  const auto bytes = static_cast<size_t>(request.count * request.type->size);
  const uint8_t flags = request.await_match ? kSynchronous : 0;
  const uint32_t cookie = request.await_match ? requests_.issue_cookie(request) : 0;
  Status status;
  if (write(its, request.buffer, *request.type, bytes, to, flags, cookie,
            match_word(request.key.context, request.key.tag), status)) {
    if (__builtin_expect(its.profiled, 0)) profile_.sent(to, its.rings, bytes, request.key.tag);
  } else {
    if (status.ok()) return false;
    request.await_match = false;
  }
  if (!request.await_match) requests_.complete_send(request, status);
  return true;
}

bool EagerPath::is_flow_blocked(PeerIndex to) {
  shm::RingWriter* ring = peer(to).rings.to;
  if (ring == nullptr) return transport_.unexpected_kib_at(to) > unexpected_kib_max_;
  if (__builtin_expect(ring->unexpected_kib() <= unexpected_kib_max_, 1)) return false;
  ring->update_credit();
  return ring->unexpected_kib() > unexpected_kib_max_;
}

void EagerPath::update_fast_path(PeerIndex to) {
  Peer& its = peer(to);
  its.fast_path = its.rings.to != nullptr && its.backlog == nullptr && !failures_.is_dead(to) && !disabled_ &&
                  its.rings.to->unexpected_kib() <= unexpected_kib_max_;
  its.ring_bytes_max = pairs_.at(to).protocol.ring_bytes_max;
  if (__builtin_expect(its.profiled, 0) && !profile_.allows_fast_path(to, its.rings)) its.fast_path = false;
}

void EagerPath::reload() {
  for (size_t to = 0; to < peers_.size(); ++to) {
    peers_[to].ring_bytes_max = pairs_.at(static_cast<PeerIndex>(to)).protocol.ring_bytes_max;
  }
}

void EagerPath::add_to_backlog(Request& request) {
  const PeerIndex to = request.key.peer;
  Peer& its = peer(to);
  request.next = nullptr;
  (its.backlog != nullptr ? its.backlog_last->next : its.backlog) = &request;
  its.backlog_last = &request;
  update_fast_path(to);
  if (std::exchange(its.listed, true)) return;
  waiting_.push_back(to);
}

void EagerPath::shuffle() {
  for (size_t i = 1; i < waiting_.size(); ++i) std::swap(waiting_[i], waiting_[chaos::draw(i + 1)]);
}

uint64_t EagerPath::slots_sent() {
  slots_seen_.resize(peers_.size());
  for (size_t i = 0; i < peers_.size(); ++i) {
    const shm::RingWriter* direct_ring = transport_.local_path().direct_ring_to(static_cast<PeerIndex>(i));
    if (direct_ring == nullptr) continue;
    const uint32_t written = direct_ring->slots_written();
    slots_sent_ += written - slots_seen_[i];
    slots_seen_[i] = written;
  }
  return slots_sent_;
}

// Receiving.

// Receives the next packet of a ring if it is this message and arrives within the polling rounds. Pre: no
// posted receive and no unexpected message of this sender has to go first.
bool EagerPath::receive_next(shm::RingReader& ring, std::byte* to, uint64_t room, uint64_t match,
                             uint64_t& bytes) {
  std::byte* line = ring.peek();
  for (int round = 0; line == nullptr; line = ring.peek()) {
    if (++round == kRingRounds) return false;
    if (deferred_.any()) deferred_.run();
    atomic::cpu_relax();
  }
  const shm::PacketHeader header = shm::header_at(line);
  if (header.kind() != static_cast<uint8_t>(PacketKind::eager) || header.flags() != 0 ||
      header.match != match) {
    return false;
  }
  bytes = header.bytes();
  if (__builtin_expect(!ring.holds(bytes), 0)) ring.refuse(header);
  if (bytes == room) {
    // The usual case, separate: the length is known without the header, so the processor loads the further
    // lines while the header is still in transit.
    copy_bytes(to, shm::payload_at(line), room);
  } else if (bytes < room && bytes <= packet_bytes_max_) {
    copy_bytes(to, shm::payload_at(line), bytes);
  } else {
    return false;
  }
  ring.consume(bytes);
  return true;
}

bool EagerPath::receive(std::byte* to, uint64_t room, PeerIndex from, uint64_t match, uint64_t& bytes) {
  Peer& its = peer(from);
  if (its.rings.from == nullptr || !matching_.empty()) return false;
  shm::RingReader& ring = *its.rings.from;
  // Other operations have to advance even if every receive succeeds here, so progress is called at intervals.
  // inline_path.h falls back to this function once per quarter of the ring.
  const bool at_turn = __builtin_expect(its.profiled, 0) ? profile_.stops_of_itself(from, its.rings)
                                                         : ring.next_slot() == nullptr;
  if (__builtin_expect(at_turn || ++receives_since_progress_ == kReceivesPerProgress, 0)) {
    receives_since_progress_ = 0;
    progress_(owner_);
    // A failure that was found meanwhile may have disabled the direct ring.
    if (!matching_.unexpected().empty() || its.rings.from == nullptr) return false;
    if (its.profiled) profile_.expect_receive(from, its.rings);
  }
  if (!receive_next(ring, to, room, match, bytes)) return false;
  if (its.profiled) profile_.received(from, its.rings, bytes);
  return true;
}

bool EagerPath::receive_lines(shm::RingReader& ring, std::byte* to, uint64_t bytes, uint64_t match,
                              int call) {
  const std::byte* slot = ring.next_slot();
  if (slot == nullptr || !ring.holds(bytes) || receives_since_progress_ + 1 >= kReceivesPerProgress)
    return false;
  const uint64_t awaited = ring.commit_word(eager_commit(bytes));
  uint64_t commit;
  for (int round = 0; (commit = shm::RingReader::peek_word(slot)) != awaited; ++round) {
    if (round == kRingRounds || ring.is_packet(commit)) return false;
    if (deferred_.any()) deferred_.run();
    atomic::cpu_relax();
  }
  if (shm::header_at(slot).match != match) return false;
  ++receives_since_progress_;
  copy_bytes(to, shm::payload_at(slot), bytes);
  ring.consume(bytes);
  if (__builtin_expect(profile_.active(), 0)) profile_.received_lines(bytes, call);
  return true;
}

// A message from a process whose ring is not read directly yet.
void EagerPath::meet(PeerIndex from, uint64_t bytes, int tag) {
  Peer& its = peer(from);
  if (profile_.active()) {
    pairs_.know(from);
    if (!profile_.allows_direct_ring(from, bytes, tag)) return;
  }
  its.rings.from = transport_.local_path().direct_ring_from(from);
  if (its.profiled && its.rings.from != nullptr) profile_.expect_receive(from, its.rings);
}

void EagerPath::keep(const MatchKey& key, const shm::PacketHeader& header, const std::byte* payload) {
  const UnexpectedMessage* message = matching_.add(key, header, payload);
  if (message == nullptr) errors_.out_of_memory("an unexpected message", header.bytes(), key.peer);
  transport_.add_unexpected_bytes(key.peer, message->memory_bytes());
  if (profile_.active()) profile_.unexpected(matching_.unexpected().size(), header.bytes());
}

void EagerPath::disable() {
  disabled_ = true;
  for (Peer& its : peers_) {
    its.fast_path = false;
    its.rings.from = nullptr;
  }
}

}  // namespace hearth::p2p
