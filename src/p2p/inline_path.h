// Fast path of messages between ranks of one machine that fit the ring: MPI_Send and MPI_Isend store the
// message into the ring; MPI_Recv, or MPI_Wait and MPI_Waitall for a receive of MPI_Irecv, copy it out. In
// any other case these functions return without side effects, and the rest of the eager path (eager_path.h)
// takes over.
//
// Messages of up to one cache line are inlined into the MPI calls and make no function call, so no register
// is saved: besides the transfer of its cache line, a short message costs only a few instructions. A stack
// store would wait in the store buffer behind the stores to that line. Messages of several lines make one
// function call.
#pragma once

#include "base/copy.h"
#include "datatype/lifetime.h"
#include "mpi.h"
#include "objects/lifetime.h"
#include "p2p/engine.h"

namespace hearth::p2p {

/// Computes the bytes of `count` elements; false on overflow of 64 bits.
[[gnu::always_inline]] inline bool bytes_fit(Count count, const datatype::Type& type, uint64_t& bytes) {
  int64_t product;
  const bool fit = !__builtin_mul_overflow(count, type.size, &product);
  bytes = static_cast<uint64_t>(product);
  return fit;
}

[[gnu::always_inline]] inline bool Engine::send_inline(const void* buffer, Count count,
                                                       const datatype::Type& type, PeerIndex to, int tag,
                                                       uint32_t context, int call) {
  EagerPath::Peer& peer = eager_.peer(to);
  uint64_t bytes;
  if (__builtin_expect(!bytes_fit(count, type, bytes) || !peer.fast_path || !type.contiguous, 0))
    return false;
  if (bytes > shm::kLinePayloadBytes) {
    return bytes <= peer.ring_bytes_max &&
           eager_.send_lines(buffer, type, bytes, to, match_word(context, tag), call);
  }
  shm::RingWriter& direct_ring = *peer.rings.to;
  std::byte* slot = direct_ring.claim_short();
  if (__builtin_expect(slot == nullptr, 0)) return false;
  copy_line(shm::payload_at(slot), static_cast<const std::byte*>(buffer) + type.true_lower_bound, bytes);
  direct_ring.commit_short(shm::slots_of_short(bytes), eager_commit(bytes), match_word(context, tag));
  return true;
}

// Polls the ring of one sender for a short packet with exactly this length and match word. A single
// comparison of the commit word checks all of its fields. Returns nullptr if no packet arrives within
// kRounds, or a different one; the regular path then handles the ring.
[[gnu::always_inline]] inline const std::byte* await_short(const shm::RingReader& direct_ring, uint64_t bytes,
                                                           uint64_t match) {
  constexpr int kRounds = 64;
  const std::byte* slot = direct_ring.next_slot();
  if (__builtin_expect(slot == nullptr, 0)) return nullptr;
  const uint64_t awaited = direct_ring.commit_word(eager_commit(bytes));
  uint64_t commit;
  for (int round = 0; (commit = shm::RingReader::peek_word(slot)) != awaited; ++round) {
    if (round == kRounds || direct_ring.is_packet(commit)) return nullptr;
    atomic::cpu_relax();
  }
  return __builtin_expect(shm::header_at(slot).match == match, 1) ? slot : nullptr;
}

// Consumes the next packet of the ring if it is exactly this message and arrives within the polling rounds.
[[gnu::always_inline]] inline bool Engine::take_inline(shm::RingReader& direct_ring, void* buffer,
                                                       const datatype::Type& type, uint64_t bytes,
                                                       uint64_t match, int call) {
  auto* to = static_cast<std::byte*>(buffer) + type.true_lower_bound;
  if (bytes > shm::kLinePayloadBytes) return eager_.receive_lines(direct_ring, to, bytes, match, call);
  const std::byte* slot = await_short(direct_ring, bytes, match);
  if (__builtin_expect(slot == nullptr, 0)) return false;
  copy_line(to, shm::payload_at(slot), bytes);
  direct_ring.consume_short(shm::slots_of_short(bytes));
  return true;
}

[[gnu::always_inline]] inline bool Engine::receive_inline(void* buffer, Count count,
                                                          const datatype::Type& type, PeerIndex from, int tag,
                                                          uint32_t context, int call) {
  uint64_t bytes;
  if (__builtin_expect(!bytes_fit(count, type, bytes) || bytes > eager_.packet_bytes_max() ||
                           tag == MPI_ANY_TAG || !type.contiguous,
                       0)) {
    return false;
  }
  shm::RingReader* direct_ring = eager_.peer(from).rings.from;
  if (__builtin_expect(direct_ring == nullptr || !matching_.empty(), 0)) return false;
  return take_inline(*direct_ring, buffer, type, bytes, match_word(context, tag), call);
}

[[gnu::always_inline]] inline Request* Engine::post_inline(void* buffer, Count count, datatype::Type& type,
                                                           PeerIndex from, int tag, objects::Comm& comm) {
  uint64_t bytes;
  if (__builtin_expect(
          !matching_.unexpected().empty() || matching_.posted().binned() || !bytes_fit(count, type, bytes),
          0)) {
    return nullptr;
  }
  Request* request =
      requests_.create(RequestKind::receive, buffer, count, type, MatchKey{comm.context, from, tag});
  if (__builtin_expect(request == nullptr, 0)) return nullptr;
  datatype::retain(type);
  request->comm = &comm;
  objects::retain(comm);
  matching_.posted().add(*request);
  return request;
}

// The oldest posted receive takes the next message that matches it. No unexpected message can match the
// request: then it would not have been posted.
[[gnu::always_inline]] inline bool Engine::receive_posted_inline(Request& request) {
  const datatype::Type& type = *request.type;
  const auto bytes = static_cast<uint64_t>(request.count * type.size);
  const PeerIndex from = request.key.peer;
  const bool usual = from >= 0 && request.key.tag != MPI_ANY_TAG && bytes <= eager_.packet_bytes_max() &&
                     type.contiguous && matching_.posted().is_first(request);
  if (__builtin_expect(!usual, 0)) return false;
  shm::RingReader* direct_ring = eager_.peer(from).rings.from;
  if (__builtin_expect(direct_ring == nullptr, 0)) return false;
  if (!take_inline(*direct_ring, request.buffer, type, bytes,
                   match_word(request.key.context, request.key.tag), MessageProfile::kCountedCall)) {
    return false;
  }
  matching_.posted().remove_first(request);
  return true;
}

}  // namespace hearth::p2p
