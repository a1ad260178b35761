// The sender's half of a single copy: offers the buffer of a long message to the receiver, in the arena or by
// its address, and on the receiver's request copies fragments of it too (cooperative copy) or writes the
// whole message alone. The buffer stays exposed until the receiver reports the copy or this process has
// written it. Refusals and lags of receivers lead to fewer offers.
//
// Owned by the engine, under the library's lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "p2p/arena_policy.h"
#include "p2p/counters.h"
#include "p2p/envelope.h"
#include "p2p/memory_access.h"
#include "p2p/pair_table.h"
#include "p2p/request.h"
#include "p2p/skew.h"
#include "shm/arena.h"

namespace hearth::p2p {

class CopyOffers {
 public:
  /// `arena`: nullptr if there is none. The counters outlive this object.
  CopyOffers(PairTable& pairs, MemoryAccess& access, shm::Arena* arena, profile::Recorder* recorder,
             EngineCounters& counters);

  struct Offer {
    uint8_t flags = 0;  // kSingleCopy, kInArena or 0: the message goes through bounce buffers
    uint64_t address = 0;
    shm::Exposure exposure;  // with kInArena
  };
  /// `idle`: no message to this receiver is in bounce buffers.
  Offer offer(const Request& request, uint64_t bytes, bool idle);
  /// A message of `bytes` bytes begins, with an offer or without (0).
  void began(const MatchKey& key, uint64_t bytes, uint8_t flags);
  /// Whether the buffers kept for a peer have to be released: its next message in bounce buffers is a sample
  /// of the store policy, or messages change between bounce buffers and the arena. Kept buffers would then
  /// become more with each change, and leave the processor's caches.
  bool take_release_due(PeerIndex peer) {
    const bool sample_due = std::exchange(of(peer).sample_due, false);
    return std::exchange(of(peer).way_changed, false) || sample_due;
  }
  /// A message of `bytes` bytes that was offered has ended.
  void ended(const MatchKey& key, uint64_t bytes);
  /// The sender waited for it.
  void waited(const MatchKey& key, uint64_t bytes, uint64_t waited_ns);
  /// Flags of clear_to_send: the receiver cannot copy in this way.
  void declined(PeerIndex peer, uint8_t flags);

  enum class Served : uint8_t {
    invalid,        // the request is invalid
    together,       // this process has copied its share; the receiver reports the end
    answer_written  // the sender has to send `written` with Answer::flags
  };
  struct Answer {
    Served served = Served::together;
    uint8_t flags = 0;  // of `written`
  };
  /// A request of the receiver to copy. Pre: the request's buffer is exposed, and its message not shorter
  /// than the copy.
  Answer serve(const Request& request, uint8_t flags, const CooperativeRequest& cooperative_request);

  /// Reloads the parameters.
  void reload();

 private:
  // Lengths up to 64 KiB, 128 KiB, 256 KiB, and longer ones.
  static constexpr int kLengths = 4;
  struct Peer {
    bool single_copy_declined = false;  // the peer replied that single copy works in neither direction
    bool arena_declined = false;        // the peer cannot map this process's arena slice
    bool sample_due = false;
    bool way_changed = false;      // between the arena and bounce buffers, by measurement
    uint32_t arena_questions = 0;  // messages eligible for the arena
    uint32_t offered = 0;          // messages with an offer that have not ended
    Skew skew;
    // By length, for messages for which both ways are open. Made by the first one.
    std::unique_ptr<std::array<ArenaPolicy, kLengths>> arena_policies;
  };

  Peer& of(PeerIndex peer) { return peers_[static_cast<size_t>(peer)]; }
  Offer offer_zero_copy(const Request& request, uint64_t bytes, const PairProtocol& limits, bool idle);
  bool offers_arena(PeerIndex to, uint64_t bytes, bool measured, bool idle);
  bool chooses_arena(Peer& peer, uint64_t bytes, bool idle);
  static ArenaPolicy& policy_of(Peer& peer, uint64_t bytes);
  Answer copy_share(const Request& request, uint8_t flags, const CooperativeRequest& cooperative_request);
  bool copy_share_in_arena(const Request& request, const CooperativeRequest& cooperative_request);
  void copy_share_by_method(const Request& request, const CooperativeRequest& cooperative_request);
  uint8_t write_alone(const Request& request, const CooperativeRequest& cooperative_request);

  PairTable& pairs_;
  MemoryAccess& access_;
  shm::Arena* const arena_;
  profile::Recorder* const recorder_;
  EngineCounters& counters_;
  bool skew_aware_ = true;
  PeerTable<Peer> peers_;
};

}  // namespace hearth::p2p
