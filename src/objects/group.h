// MPI groups: an ordered set of processes. Immutable once made (MPI 5.0 section 7.3).
//
// A process is named by its peer index: its rank in MPI_COMM_WORLD.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/peer_index.h"
#include "base/status.h"
#include "objects/machines.h"
#include "objects/object.h"

namespace hearth::objects {

struct Session;

using hearth::PeerIndex;
using Peers = std::vector<PeerIndex>;

struct Group : Object {
  /// peers[rank in this group] = process.
  Peers peers;
  /// Rank of the calling process in this group, or MPI_UNDEFINED.
  int rank = 0;
  /// The session that it comes from, directly or not; nullptr for those that come from MPI_COMM_WORLD. A
  /// communicator's is that of its group. Only compared: the session may have ended.
  const Session* session = nullptr;
  /// Of a communicator's group, where its processes are on several machines; else nullptr.
  std::unique_ptr<const Machines> machines;

  int size() const { return static_cast<int>(peers.size()); }
  /// Rank of a process in this group, or MPI_UNDEFINED. O(1) where peers are 0..n-1, else O(log n).
  int rank_of(PeerIndex peer) const;

  /// Must be called once after peers is filled in: sets rank and prepares rank_of().
  void index(PeerIndex self);

 private:
  bool identity_ = false;
  std::vector<std::pair<PeerIndex, int>> by_peer_;  // sorted by peer; empty when identity_
};

// Set operations; the order of the results is the standard's (MPI 5.0 section 7.3.2).

/// MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL.
int compare(const Group& one, const Group& other);
Peers unite(const Group& one, const Group& other);
Peers intersect(const Group& one, const Group& other);
Peers subtract(const Group& one, const Group& other);

/// A range of ranks: first, last, stride.
using RankRange = int[3];
/// The ranks that ranges mean; MPI_ERR_ARG for a range that never gets to its end.
Status expand(int count, const RankRange* ranges, std::vector<int>& ranks);
/// The processes with these ranks in that order. A rank out of range or named twice is MPI_ERR_RANK.
Status include(const Group& group, int count, const int* ranks, Peers& peers);
/// The processes with other ranks than these, in the group's order. The same ranks are errors.
Status exclude(const Group& group, int count, const int* ranks, Peers& peers);

}  // namespace hearth::objects
