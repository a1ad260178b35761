// Groups of ranks that are near each other, in levels, for collectives among more ranks than may each read
// what all others say.
//
//   level 0   [ 0  1  2  3 ] [ 4  5  6  7 ] [ 8  9 10 11 ] [12 13 14 15 ]   groups; the first is the leader
//   level 1   [ 0 ---------- 4 ]            [ 8 ---------- 12 ]             groups of leaders
//   level 2   [ 0 --------------------------- 8 ]                           the top: one group
//
// Made alike on all ranks, from what all know: the number of ranks, and the places that the launcher bound
// them to. by_rank() depends on the number of ranks alone and its groups are consecutive ranks at every
// level: for reductions whose bits or whose meaning depend on the order. by_place() keeps apart what shares
// no cache, no memory node, no package, wherever the groups get large enough by that.
//
// Owned by a control area, in the memory of its process; used under the library's lock.
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
    size_t own = 0;            // this rank's place among them
  };

  static Hierarchy by_rank(int ranks, int self);
  static Hierarchy by_place(std::span<const shm::RankPlace> places, int self);

  /// How many ranks meet in one group at most: the square root of their number where it lies from 8 to 16, so
  /// that two levels do.
  static int group_ranks_max(int ranks);

  int levels() const { return static_cast<int>(leaders_.size()); }
  /// From its own up. In all but the last it is the leader; the last one is the top where is_top().
  const std::vector<Group>& groups() const { return groups_; }
  bool is_top() const { return static_cast<int>(groups_.size()) == levels(); }
  /// Who stands for a rank at a level; for itself at level 0.
  int delegate(int level, int rank) const {
    return leaders_[static_cast<size_t>(level)][static_cast<size_t>(rank)];
  }
  /// Who stands for it in the top group.
  int top_delegate(int rank) const { return delegate(levels() - 1, rank); }

  /// All groups of level 0.
  const std::vector<std::vector<int>>& lowest_groups() const { return lowest_; }

  // Data that go from one rank to all: in each group one speaks, the delegate of the root where the root lies
  // below the group, else the leader. Everyone but the root hears one rank.
  int speaker(size_t level, int root) const;
  /// Whom this rank hears; -1 for the root.
  int heard_by_self(int root) const;

  /// "8 x 8": the size of the largest group of each level, for the tools.
  std::string text() const;

 private:
  using Groups = std::vector<std::vector<int>>;

  Hierarchy(int ranks, int self);
  /// The next level: `groups` are of those who led in the last one. Returns who leads now.
  std::vector<int> add_level(const Groups& groups);
  /// Levels of consecutive leaders until they are few, then the top.
  void finish(std::vector<int> leaders);

  int self_;
  int group_max_;
  std::vector<std::vector<int>> leaders_;  // by level and rank
  std::vector<Group> groups_;
  Groups lowest_;
  std::vector<size_t> widths_;
};

}  // namespace hearth::coll
