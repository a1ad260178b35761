// The path of nearly every message between ranks of one machine: a message of one cache line from MPI_Send
// into the ring, and out of the ring into MPI_Recv. What is not the usual case is left, untouched, to
// send.cpp and receive.cpp.
//
// Compiled into the MPI calls, without a single call of its own, so that no register has to be saved: what a
// short message costs beside the transfer of its line is instructions, 0.25 ns each.
#pragma once

#include "base/copy.h"
#include "mpi.h"
#include "p2p/engine.h"

namespace hearth::p2p {

constexpr uint64_t eager_commit(uint64_t bytes) {
  return shm::PacketHeader::make_commit(static_cast<uint8_t>(PacketKind::eager), 0,
                                        static_cast<uint16_t>(bytes), 0);
}

[[gnu::always_inline]] inline bool Engine::send_at_once(const void* buffer, Count count,
                                                        const datatype::Type& type, PeerIndex to, int tag,
                                                        uint32_t context) {
  const Peer& peer = peers_[static_cast<size_t>(to)];
  const auto bytes = static_cast<uint64_t>(count * type.size);
  if (__builtin_expect(bytes > shm::kLinePayloadBytes || !peer.at_once || !type.contiguous, 0)) return false;
  shm::RingWriter& lane = *peer.lane_to;
  std::byte* line = lane.claim_line();
  if (__builtin_expect(line == nullptr, 0)) return false;
  copy_line(shm::payload_at(line), static_cast<const std::byte*>(buffer) + type.true_lower_bound, bytes);
  lane.commit_line(eager_commit(bytes), match_word(context, tag));
  return true;
}

[[gnu::always_inline]] inline bool Engine::receive_at_once(void* buffer, Count count,
                                                           const datatype::Type& type, PeerIndex from,
                                                           int tag, uint32_t context) {
  // Rounds in which nothing but this sender's ring is looked at, before everything else is minded too.
  constexpr int kRounds = 64;
  const auto bytes = static_cast<uint64_t>(count * type.size);
  if (__builtin_expect(bytes > shm::kLinePayloadBytes || tag == MPI_ANY_TAG || !type.contiguous, 0))
    return false;
  shm::RingReader* lane = peers_[static_cast<size_t>(from)].lane_from;
  if (__builtin_expect(lane == nullptr || !posted_.empty() || !unexpected_.empty(), 0)) return false;
  const std::byte* line = lane->next_line();
  if (__builtin_expect(line == nullptr, 0)) return false;
  uint64_t commit;
  for (int round = 0; (commit = shm::RingReader::peek_line(line)) == 0; ++round) {
    if (round == kRounds) return false;
    atomic::cpu_relax();
  }
  // One comparison each instead of one for every field.
  if (__builtin_expect(
          commit != eager_commit(bytes) || shm::header_at(line).match != match_word(context, tag), 0)) {
    return false;
  }
  copy_line(static_cast<std::byte*>(buffer) + type.true_lower_bound, shm::payload_at(line), bytes);
  lane->consume_line();
  return true;
}

}  // namespace hearth::p2p
