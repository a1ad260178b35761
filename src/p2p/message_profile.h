// Messages in the ring for --profile and --trace. The fast path does not count its messages, with a profile
// or without: the first messages of a pair bypass it and are recorded one by one; for the rest the rings know
// the number, and the call and the length are recorded for a sample. docs/design/profile.md.
//
// The eager path calls this class only for peers that have a profile. Owned by the engine, under the
// library's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "p2p/direct_rings.h"
#include "p2p/match.h"
#include "p2p/pair_table.h"

namespace hearth::profile {
class Recorder;
struct PeerCounts;
}  // namespace hearth::profile

namespace hearth::p2p {

class MessageProfile {
 public:
  static constexpr int kCountedCall = -1;  // the profile has already counted the call

  /// `recorder`: nullptr without --profile and --trace; then only active() and traced() may be called.
  /// `posted`: counts the receives that the fast path has served.
  MessageProfile(int size, profile::Recorder* recorder, const PostedQueue& posted);

  /// Number of processes that the profile has.
  PeerIndex size() const { return static_cast<PeerIndex>(peers_.size()); }
  bool active() const { return recorder_ != nullptr; }
  /// Whether every message is recorded.
  bool traced() const;
  /// Begins the profile of a pair that has become known.
  void begin(PeerIndex peer, const Pair& pair);

  // Sender.
  /// A message was sent in the ring by the slow path.
  void sent(PeerIndex to, const DirectRings& rings, size_t bytes, int tag);
  /// A message of several lines was sent by the fast path of this MPI function.
  void sent_lines(PeerIndex to, uint64_t bytes, int tag, int call);
  /// Limits the ring, so that the next message to record takes the slow path. False: all of them have to.
  bool allows_fast_path(PeerIndex to, const DirectRings& rings);

  // Receiver.
  /// A message was received from its ring by the slow path.
  void received(PeerIndex from, const DirectRings& rings, uint64_t bytes);
  /// A message of several lines was received by the fast path of this MPI function.
  void received_lines(uint64_t bytes, int call);
  /// A message was received whose call is not known.
  void count_call(uint64_t bytes) const;
  /// A message of a peer whose ring is not yet read directly. False: neither is the next one.
  bool allows_direct_ring(PeerIndex from, uint64_t bytes, int tag);
  /// Limits the ring, so that the next message to record takes the slow path.
  void expect_receive(PeerIndex from, const DirectRings& rings);
  /// Whether the ring takes its slow path for another reason than a sample.
  bool stops_of_itself(PeerIndex from, const DirectRings& rings);
  void unexpected(size_t messages, size_t bytes);
  void expected(size_t bytes);

  /// Adds the messages that the rings have carried since the last sample.
  void sample(PeerIndex peer, const DirectRings& rings);

 private:
  struct Peer {
    profile::PeerCounts* counts = nullptr;  // nullptr: not begun
    uint32_t seen_sends_left = 0;           // still recorded one by one
    uint32_t seen_receives_left = 0;
    uint32_t short_counted_to = 0;
    uint32_t short_counted_from = 0;
    // Short messages that took the slow path but were not recorded, because the ring wrapped around or its
    // limit came early. The draws number these together with the messages of the fast path.
    uint32_t slow_to = 0;
    uint32_t slow_from = 0;
    uint32_t drawn_send = 0;  // number of the next message to record
    uint32_t drawn_receive = 0;
  };

  Peer& of(PeerIndex peer) { return peers_[static_cast<size_t>(peer)]; }
  bool is_drawn(uint32_t packets, uint32_t& drawn);
  bool is_unseen(PeerIndex to, const DirectRings& rings);
  bool sample_send(PeerIndex to, const DirectRings& rings);

  profile::Recorder* const recorder_;
  const PostedQueue& posted_;
  std::vector<Peer> peers_;    // empty without a recorder
  uint32_t chance_ = 1;        // random state of is_drawn()
  uint64_t posted_lines_ = 0;  // posted receives served by received_lines()
};

}  // namespace hearth::p2p
