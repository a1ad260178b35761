// Groups of ranks that are close to each other, in levels, for collectives among too many ranks for each to
// read the data of all others.
//
//   level 0   [ 0  1  2  3 ] [ 4  5  6  7 ] [ 8  9 10 11 ] [12 13 14 15 ]   groups; the first is the leader
//   level 1   [ 0 ---------- 4 ]            [ 8 ---------- 12 ]             groups of leaders
//   level 2   [ 0 --------------------------- 8 ]                           the top: one group
//
// All ranks build the same groups from what all of them know: the number of ranks, and the hardware to which
// the launcher bound each. by_rank() depends on the number of ranks alone, and its groups are consecutive
// ranks at every level: for reductions whose bits or result depend on the order. by_place() separates ranks
// that share no L3 cache, NUMA node or package, where the groups are large enough.
//
// Owned by the view of a collective region, in private memory; used under the library's lock.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "shm/layout.h"

namespace hearth::coll {

class Hierarchy {
 public:
  /// A group that this rank belongs to.
  struct Group {
    std::vector<int> members;  // ranks; the leader first
    size_t own = 0;            // index of this rank in `members`
  };

  static Hierarchy by_rank(int ranks, int self);
  static Hierarchy by_place(std::span<const shm::RankPlace> places, int self);

  /// Maximum size of a group: the square root of the number of ranks, rounded up to a power of two, at most
  /// 16. Up to 256 ranks then need two levels.
  static int group_ranks_max(int ranks);

  int levels() const { return static_cast<int>(leaders_.size()); }
  /// The groups of this rank, from level 0 up. It leads all of them but the last, which is the top group if
  /// is_top().
  const std::vector<Group>& groups() const { return groups_; }
  bool is_top() const { return static_cast<int>(groups_.size()) == levels(); }
  /// The rank that represents a rank at a level; the rank itself at level 0.
  int delegate(int level, int rank) const {
    return leaders_[static_cast<size_t>(level)][static_cast<size_t>(rank)];
  }
  /// The rank that represents it in the top group.
  int top_delegate(int rank) const { return delegate(levels() - 1, rank); }

  /// All groups of level 0.
  const std::vector<std::vector<int>>& lowest_groups() const { return lowest_; }

  // Broadcast: in each group one rank, the speaker, publishes the data. It is the root's delegate if the root
  // is below the group, else the leader. Each rank but the root reads the slot of one speaker.
  int publisher(size_t level, int root) const;
  /// The rank whose slot this rank reads; -1 on the root.
  int read_by_self(int root) const;

  /// "8 x 8": the size of the largest group of each level, for the tools.
  std::string text() const;

 private:
  using Groups = std::vector<std::vector<int>>;

  Hierarchy(int ranks, int self);
  /// Adds the next level, whose `groups` consist of the leaders of the previous one. Returns the new leaders.
  std::vector<int> add_level(const Groups& groups);
  /// Adds levels of consecutive leaders until one group is left, and that group as the top.
  void finish(std::vector<int> leaders);

  int self_;
  int group_max_;
  std::vector<std::vector<int>> leaders_;  // by level and rank
  std::vector<Group> groups_;
  Groups lowest_;
  std::vector<size_t> widths_;
};

}  // namespace hearth::coll
