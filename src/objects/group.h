// MPI groups: an ordered set of processes. Immutable once made (MPI 5.0 section 7.3).
//
// A process is named by its peer index: its rank in MPI_COMM_WORLD.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "objects/object.h"

namespace hearth::objects {

/// A process's rank in MPI_COMM_WORLD. Not to be mixed with a rank in some communicator.
using PeerIndex = int32_t;

struct Group : Object {
  /// peers[rank in this group] = process.
  std::vector<PeerIndex> peers;
  /// Rank of the calling process in this group, or MPI_UNDEFINED.
  int rank = 0;

  int size() const { return static_cast<int>(peers.size()); }
  /// Rank of a process in this group, or MPI_UNDEFINED. O(1) where peers are 0..n-1, else O(log n).
  int rank_of(PeerIndex peer) const;

  /// Must be called once after peers is filled in: sets rank and prepares rank_of().
  void index(PeerIndex self);

 private:
  bool identity_ = false;
  std::vector<std::pair<PeerIndex, int>> by_peer_;  // sorted by peer; empty when identity_
};

}  // namespace hearth::objects
