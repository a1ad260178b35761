// State of each peer for sending: the thresholds of the protocols, with the hints of communicators, and the
// policies by which the two copy through shared memory.
//
// Owned by the engine, under the library's lock.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/peer_table.h"
#include "p2p/load_policy.h"
#include "p2p/match.h"
#include "p2p/protocol.h"
#include "p2p/store_policy.h"
#include "shm/arena.h"
#include "transport/transport.h"

namespace hearth::p2p {

using objects::PeerIndex;

struct Pair {
  PairProtocol protocol;
  topo::Relation relation{};  // once known
  bool known = false;         // the thresholds have been looked up
  bool reachable = false;     // the transport has a single-copy target for its memory
  StorePolicy store_policy;
  LoadPolicy load_policy = LoadPolicy(load_choice());
};

class PairTable {
 public:
  /// `relation`: of this process to another one. `arena`: nullptr if there is none. `on_known` is called when
  /// a pair has become known.
  PairTable(const PeerRoom& room, const std::function<topo::Relation(PeerIndex)>& relation,
            transport::Transport& transport, const shm::Arena* arena,
            const std::function<void(PeerIndex, const Pair&)>& on_known);

  int size() const { return static_cast<int>(pairs_.size()); }
  const PeerRoom& room() const { return room_; }
  /// Whether the process is of the own job.
  bool is_home(PeerIndex peer) const { return peer < room_.count; }
  /// The pair, as far as it is known.
  Pair& at(PeerIndex peer) { return pairs_[static_cast<size_t>(peer)]; }
  /// Looks the thresholds up at the first message.
  Pair& know(PeerIndex peer) {
    Pair& pair = at(peer);
    if (__builtin_expect(!pair.known, 0)) get_to_know(pair, peer);
    return pair;
  }
  /// The thresholds for a message that does not fit the ring.
  const PairProtocol& limits_for(PeerIndex peer, uint32_t context) {
    const Pair& pair = know(peer);
    return __builtin_expect(hinted_.empty(), 1) ? pair.protocol : hinted_limits(peer, pair, context);
  }
  const PairProtocol& limits_for(const MatchKey& key) { return limits_for(key.peer, key.context); }

  /// Reloads all thresholds, for messages that start from now on. Only the sender uses a threshold, so no
  /// other process has to be informed.
  void reload();
  /// Sets the hints of a communicator, `context` being its first. They apply to messages that do not fit the
  /// ring and start from now on.
  void set_hints(uint32_t context, const tune::Hints& hints);

 private:
  /// Communicators with hints, by block of context ids; limits by peer, computed on first use.
  struct Hinted {
    uint32_t block;
    tune::Hints hints;
    std::vector<std::optional<PairProtocol>> limits;
  };

  [[gnu::cold]] void get_to_know(Pair& pair, PeerIndex peer);
  PairProtocol limits_of(PeerIndex peer, const Pair& pair, const tune::Hints* hints = nullptr) const;
  const PairProtocol& hinted_limits(PeerIndex peer, const Pair& pair, uint32_t context);

  const PeerRoom room_;
  const std::function<topo::Relation(PeerIndex)> relation_;
  transport::Transport& transport_;
  const shm::Arena* const arena_;
  const std::function<void(PeerIndex, const Pair&)> on_known_;
  PeerTable<Pair> pairs_;
  std::vector<Hinted> hinted_;
};

}  // namespace hearth::p2p
