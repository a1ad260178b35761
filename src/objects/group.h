// MPI groups: ordered sets of processes. Immutable after creation (MPI 5.0 section 7.3).
//
// Processes are identified by peer index, the rank in MPI_COMM_WORLD.
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
  /// The session from which the group was derived, directly or not; nullptr if it was derived from
  /// MPI_COMM_WORLD. A communicator's session is that of its group. Only compared, because the session may
  /// have ended.
  const Session* session = nullptr;
  /// Of the group of a communicator with processes on several machines; otherwise nullptr.
  std::unique_ptr<const Machines> machines;

  int size() const { return static_cast<int>(peers.size()); }
  /// Rank of a process in this group, or MPI_UNDEFINED. O(1) if peers are 0..n-1, otherwise O(log n).
  int rank_of(PeerIndex peer) const;

  /// Sets `rank` and prepares rank_of(). Must be called once, after `peers` is filled.
  void index(PeerIndex self);

 private:
  bool identity_ = false;
  std::vector<std::pair<PeerIndex, int>> by_peer_;  // sorted by peer; empty if identity_
};

// Set operations. The order of the results is the standard's (MPI 5.0 section 7.3.2).

/// MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL.
int compare(const Group& one, const Group& other);
Peers unite(const Group& one, const Group& other);
Peers intersect(const Group& one, const Group& other);
Peers subtract(const Group& one, const Group& other);

/// A range of ranks: first, last, stride.
using RankRange = int[3];
/// The ranks in these ranges; MPI_ERR_ARG for a range that never reaches its end.
Status expand(int count, const RankRange* ranges, std::vector<int>& ranks);
/// The processes with these ranks, in this order. MPI_ERR_RANK for a rank that is out of range or listed
/// twice.
Status include(const Group& group, int count, const int* ranks, Peers& peers);
/// The processes without these ranks, in the group's order. Same errors as include().
Status exclude(const Group& group, int count, const int* ranks, Peers& peers);

}  // namespace hearth::objects
