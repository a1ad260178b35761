// The path of nearly every message between ranks of one machine that fits the ring: from MPI_Send or
// MPI_Isend into the ring, and out of the ring into MPI_Recv, or into the receive that MPI_Irecv posted when
// MPI_Wait or MPI_Waitall comes to it. What is not the usual case is left, untouched, to send.cpp and
// receive.cpp.
//
// For up to one cache line it is compiled into the MPI calls, without a single call of its own, so that no
// register has to be saved: what a short message costs beside the transfer of its line is instructions, and
// stores that wait behind the line's. Several lines are one call each.
#pragma once

#include "base/copy.h"
#include "datatype/lifetime.h"
#include "mpi.h"
#include "objects/lifetime.h"
#include "p2p/engine.h"

namespace hearth::p2p {

constexpr uint64_t eager_commit(uint64_t bytes) {
  return shm::PacketHeader::make_commit(static_cast<uint8_t>(PacketKind::eager), 0,
                                        static_cast<uint32_t>(bytes), 0);
}

/// The bytes of `count` elements; false where 64 bits cannot say how many those are.
[[gnu::always_inline]] inline bool bytes_fit(Count count, const datatype::Type& type, uint64_t& bytes) {
  int64_t product;
  const bool fit = !__builtin_mul_overflow(count, type.size, &product);
  bytes = static_cast<uint64_t>(product);
  return fit;
}

[[gnu::always_inline]] inline bool Engine::send_at_once(const void* buffer, Count count,
                                                        const datatype::Type& type, PeerIndex to, int tag,
                                                        uint32_t context, int call) {
  Peer& peer = peers_[static_cast<size_t>(to)];
  uint64_t bytes;
  if (__builtin_expect(!bytes_fit(count, type, bytes) || !peer.at_once || !type.contiguous, 0)) return false;
  if (bytes > shm::kLinePayloadBytes) {
    return bytes <= peer.protocol.ring_bytes_max &&
           send_lines_at_once(peer, buffer, type, bytes, to, match_word(context, tag), call);
  }
  shm::RingWriter& lane = *peer.lane_to;
  std::byte* slot = lane.claim_short();
  if (__builtin_expect(slot == nullptr, 0)) return false;
  copy_line(shm::payload_at(slot), static_cast<const std::byte*>(buffer) + type.true_lower_bound, bytes);
  lane.commit_short(shm::slots_of_short(bytes), eager_commit(bytes), match_word(context, tag));
  return true;
}

// Waits for a little while for a short packet, which must be this very message: one comparison each instead
// of one for every field. Nothing but this sender's ring is looked at. nullptr: it is for others to see what
// came, if anything.
[[gnu::always_inline]] inline const std::byte* await_short(const shm::RingReader& lane, uint64_t bytes,
                                                           uint64_t match) {
  constexpr int kRounds = 64;
  const std::byte* slot = lane.next_slot();
  if (__builtin_expect(slot == nullptr, 0)) return nullptr;
  const uint64_t awaited = lane.commit_word(eager_commit(bytes));
  uint64_t commit;
  for (int round = 0; (commit = shm::RingReader::peek_word(slot)) != awaited; ++round) {
    if (round == kRounds || lane.is_packet(commit)) return nullptr;
    atomic::cpu_relax();
  }
  return __builtin_expect(shm::header_at(slot).match == match, 1) ? slot : nullptr;
}

// Takes the next packet of the ring if it is this very message and comes within moments.
[[gnu::always_inline]] inline bool Engine::take_at_once(shm::RingReader& lane, void* buffer,
                                                        const datatype::Type& type, uint64_t bytes,
                                                        uint64_t match, int call) {
  auto* to = static_cast<std::byte*>(buffer) + type.true_lower_bound;
  if (bytes > shm::kLinePayloadBytes) return take_lines_at_once(lane, to, bytes, match, call);
  const std::byte* slot = await_short(lane, bytes, match);
  if (__builtin_expect(slot == nullptr, 0)) return false;
  copy_line(to, shm::payload_at(slot), bytes);
  lane.consume_short(shm::slots_of_short(bytes));
  return true;
}

[[gnu::always_inline]] inline bool Engine::receive_at_once(void* buffer, Count count,
                                                           const datatype::Type& type, PeerIndex from,
                                                           int tag, uint32_t context, int call) {
  uint64_t bytes;
  if (__builtin_expect(!bytes_fit(count, type, bytes) || bytes > packet_bytes_max_ || tag == MPI_ANY_TAG ||
                           !type.contiguous,
                       0)) {
    return false;
  }
  shm::RingReader* lane = peers_[static_cast<size_t>(from)].lane_from;
  if (__builtin_expect(lane == nullptr || !posted_.empty() || !unexpected_.empty(), 0)) return false;
  return take_at_once(*lane, buffer, type, bytes, match_word(context, tag), call);
}

[[gnu::always_inline]] inline Request* Engine::post_at_once(void* buffer, Count count, datatype::Type& type,
                                                            PeerIndex from, int tag, objects::Comm& comm) {
  uint64_t bytes;
  if (__builtin_expect(!unexpected_.empty() || posted_.binned() || !bytes_fit(count, type, bytes), 0)) {
    return nullptr;
  }
  Request* request =
      requests_.create(RequestKind::receive, buffer, count, type, MatchKey{comm.context, from, tag});
  if (__builtin_expect(request == nullptr, 0)) return nullptr;
  datatype::retain(type);
  request->comm = &comm;
  objects::retain(comm);
  posted_.add(*request);
  return request;
}

// A message that fits the oldest posted receive is its own, and no message that fits the receive waits, or it
// would not be posted.
[[gnu::always_inline]] inline bool Engine::receive_posted_at_once(Request& request) {
  const datatype::Type& type = *request.type;
  const auto bytes = static_cast<uint64_t>(request.count * type.size);
  const PeerIndex from = request.key.peer;
  const bool usual = from >= 0 && request.key.tag != MPI_ANY_TAG && bytes <= packet_bytes_max_ &&
                     type.contiguous && posted_.is_first(request);
  if (__builtin_expect(!usual, 0)) return false;
  shm::RingReader* lane = peers_[static_cast<size_t>(from)].lane_from;
  if (__builtin_expect(lane == nullptr, 0)) return false;
  if (!take_at_once(*lane, request.buffer, type, bytes, match_word(request.key.context, request.key.tag),
                    kCountedCall)) {
    return false;
  }
  posted_.remove_first(request);
  return true;
}

[[gnu::always_inline]] inline void Engine::destroy_plain(Request& request) {
  datatype::release(*request.type);
  objects::release(*request.comm);
  requests_.destroy(&request);
}

}  // namespace hearth::p2p
