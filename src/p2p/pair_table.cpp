#include "p2p/pair_table.h"

#include "base/contexts.h"
#include "transport/local_path.h"

namespace hearth::p2p {

PairTable::PairTable(const PeerRoom& room, const std::function<topo::Relation(PeerIndex)>& relation,
                     transport::Transport& transport, const shm::Arena* arena,
                     const std::function<void(PeerIndex, const Pair&)>& on_known)
    : room_(room),
      relation_(relation),
      transport_(transport),
      arena_(arena),
      on_known_(on_known),
      pairs_(room) {}

void PairTable::get_to_know(Pair& pair, PeerIndex peer) {
  single_copy::Target not_yet;  // not used yet: the peer may not have initialized MPI
  pair.relation = relation_(peer);
  pair.reachable = transport_.local_path().target_of(peer, not_yet);
  pair.protocol = limits_of(peer, pair);
  pair.store_policy = StorePolicy(pair.reachable ? store_choice() : StorePolicy::Choice::plain);
  pair.known = true;
  if (on_known_) on_known_(peer, pair);
}

PairProtocol PairTable::limits_of(PeerIndex peer, const Pair& pair, const tune::Hints* hints) const {
  PairProtocol limits = protocol_for(pair.relation, transport_.limits_to(peer), hints);
  if (!pair.reachable) {
    limits.single_copy_bytes_min = limits.single_copy_measured_bytes_min = tune::kNever;
  }
  if (!pair.reachable || arena_ == nullptr || !arena_->usable()) {
    limits.arena_bytes_min = limits.arena_measured_bytes_min = tune::kNever;
  }
  return limits;
}

void PairTable::reload() {
  for (size_t index = 0; index < pairs_.size(); ++index) {
    Pair& pair = pairs_[index];
    if (pair.known) pair.protocol = limits_of(static_cast<PeerIndex>(index), pair);
  }
  for (Hinted& hinted : hinted_) hinted.limits.assign(pairs_.size(), std::nullopt);
}

void PairTable::set_hints(uint32_t context, const tune::Hints& hints) {
  const uint32_t block = context / kContextsEach;
  std::erase_if(hinted_, [block](const Hinted& hinted) { return hinted.block == block; });
  if (hints.empty()) return;
  hinted_.push_back({block, hints, std::vector<std::optional<PairProtocol>>(pairs_.size())});
}

const PairProtocol& PairTable::hinted_limits(PeerIndex peer, const Pair& pair, uint32_t context) {
  for (Hinted& hinted : hinted_) {
    if (hinted.block != context / kContextsEach) continue;
    if (static_cast<size_t>(peer) >= hinted.limits.size()) hinted.limits.resize(pairs_.size());
    std::optional<PairProtocol>& limits = hinted.limits[static_cast<size_t>(peer)];
    if (!limits) limits = limits_of(peer, pair, &hinted.hints);
    return *limits;
  }
  return pair.protocol;
}

}  // namespace hearth::p2p
