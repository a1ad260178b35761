#include "objects/group.h"

#include <algorithm>

#include "mpi.h"

namespace hearth::objects {

void Group::index(PeerIndex self) {
  identity_ = true;
  by_peer_.clear();
  for (int r = 0; r < size(); ++r) identity_ = identity_ && peers[static_cast<size_t>(r)] == r;
  if (!identity_) {
    for (int r = 0; r < size(); ++r) by_peer_.emplace_back(peers[static_cast<size_t>(r)], r);
    std::sort(by_peer_.begin(), by_peer_.end());
  }
  rank = rank_of(self);
}

int Group::rank_of(PeerIndex peer) const {
  if (identity_) return peer >= 0 && peer < size() ? peer : MPI_UNDEFINED;
  const auto found = std::lower_bound(by_peer_.begin(), by_peer_.end(), std::pair<PeerIndex, int>(peer, 0));
  return found != by_peer_.end() && found->first == peer ? found->second : MPI_UNDEFINED;
}

}  // namespace hearth::objects
