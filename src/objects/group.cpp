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

namespace {

bool has(const Group& group, PeerIndex peer) {
  return group.rank_of(peer) != MPI_UNDEFINED;
}

/// Marks ranks; each must be in range and not marked yet.
Status mark(const Group& group, int count, const int* ranks, std::vector<bool>& marks) {
  marks.assign(static_cast<size_t>(group.size()), false);
  for (int i = 0; i < count; ++i) {
    const int rank = ranks[i];
    if (rank < 0 || rank >= group.size()) {
      return fail(MPI_ERR_RANK, "rank %d (entry %d) is not in the group, whose ranks are 0 to %d", rank, i,
                  group.size() - 1);
    }
    if (marks[static_cast<size_t>(rank)])
      return fail(MPI_ERR_RANK, "rank %d is named twice (entry %d)", rank, i);
    marks[static_cast<size_t>(rank)] = true;
  }
  return {};
}

}  // namespace

int compare(const Group& one, const Group& other) {
  if (one.peers == other.peers) return MPI_IDENT;
  if (one.size() != other.size()) return MPI_UNEQUAL;
  const bool same_members =
      std::all_of(one.peers.begin(), one.peers.end(), [&other](PeerIndex peer) { return has(other, peer); });
  return same_members ? MPI_SIMILAR : MPI_UNEQUAL;
}

Peers unite(const Group& one, const Group& other) {
  Peers peers = one.peers;
  for (const PeerIndex peer : other.peers) {
    if (!has(one, peer)) peers.push_back(peer);
  }
  return peers;
}

Peers intersect(const Group& one, const Group& other) {
  Peers peers;
  for (const PeerIndex peer : one.peers) {
    if (has(other, peer)) peers.push_back(peer);
  }
  return peers;
}

Peers subtract(const Group& one, const Group& other) {
  Peers peers;
  for (const PeerIndex peer : one.peers) {
    if (!has(other, peer)) peers.push_back(peer);
  }
  return peers;
}

Status expand(int count, const RankRange* ranges, std::vector<int>& ranks) {
  // A longer list must contain a rank twice, which the caller rejects: no need to build all of it.
  constexpr int64_t kRanksMax = int64_t{1} << 26;
  for (int i = 0; i < count; ++i) {
    const int64_t first = ranges[i][0];
    const int64_t last = ranges[i][1];
    const int64_t stride = ranges[i][2];
    if (stride == 0) return fail(MPI_ERR_ARG, "the stride of range %d is 0", i);
    if ((last - first) / stride < 0 || (last != first && (last > first) != (stride > 0))) {
      return fail(MPI_ERR_ARG, "range %d goes from %d to %d by %d and never gets there", i, ranges[i][0],
                  ranges[i][1], ranges[i][2]);
    }
    const int64_t steps = (last - first) / stride;
    if (static_cast<int64_t>(ranks.size()) + steps >= kRanksMax) {
      return fail(MPI_ERR_RANK, "range %d from %d to %d by %d leaves the group", i, ranges[i][0],
                  ranges[i][1], ranges[i][2]);
    }
    for (int64_t step = 0; step <= steps; ++step) ranks.push_back(static_cast<int>(first + step * stride));
  }
  return {};
}

Status include(const Group& group, int count, const int* ranks, Peers& peers) {
  std::vector<bool> marks;
  HEARTH_TRY(mark(group, count, ranks, marks));
  for (int i = 0; i < count; ++i) peers.push_back(group.peers[static_cast<size_t>(ranks[i])]);
  return {};
}

Status exclude(const Group& group, int count, const int* ranks, Peers& peers) {
  std::vector<bool> marks;
  HEARTH_TRY(mark(group, count, ranks, marks));
  for (size_t rank = 0; rank < marks.size(); ++rank) {
    if (!marks[rank]) peers.push_back(group.peers[rank]);
  }
  return {};
}

}  // namespace hearth::objects
