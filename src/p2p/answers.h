// Answers to packets: packets without a payload that this process sends because of a packet that it received.
// They are not part of the order of messages, so they may overtake messages that wait for room. An answer
// that finds no room in the ring waits here, and so do all later answers to the same process.
//
// Owned by the engine, under the library's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/peer_table.h"
#include "p2p/envelope.h"
#include "p2p/failure_record.h"
#include "p2p/fatal_errors.h"
#include "transport/transport.h"

namespace hearth::p2p {

class Answers {
 public:
  Answers(const PeerRoom& room, transport::Transport& transport, const FailureRecord& failures,
          const FatalErrors& errors)
      : transport_(transport), failures_(failures), errors_(errors), waiting_(room) {
    // Each process is listed once, so listing never allocates.
    peers_.reserve(static_cast<size_t>(room.most));
  }

  /// Sends an answer now or as soon as there is room. No effect if the process is dead.
  void send(PeerIndex to, PacketKind kind, uint8_t flags, uint32_t cookie);
  /// Sends an answer now; false: there is no room.
  bool try_send(PeerIndex to, PacketKind kind, uint8_t flags, uint32_t cookie);
  /// Whether no answer waits.
  bool empty() const { return peers_.empty(); }
  bool empty_for(PeerIndex to) const { return waiting_[static_cast<size_t>(to)].empty(); }
  /// Sends the answers for which there is room now; returns whether any was sent.
  bool serve();
  /// Drops the answers that wait for a process.
  void drop(PeerIndex to) { waiting_[static_cast<size_t>(to)].clear(); }
  /// Changes the order in which peers are served (base/chaos.h).
  void shuffle();

 private:
  struct Answer {
    PacketKind kind;
    uint8_t flags;
    uint32_t cookie;
  };

  transport::Transport& transport_;
  const FailureRecord& failures_;
  const FatalErrors& errors_;
  PeerTable<std::vector<Answer>> waiting_;  // by peer, oldest first
  std::vector<PeerIndex> peers_;            // for which answers wait
};

}  // namespace hearth::p2p
