// Groups of ranks on made-up machines.
#include "coll/hierarchy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace hearth::coll {
namespace {

using shm::RankPlace;

/// One processor per rank: `ranks_per_l3` of them share an L3, and so on.
struct Machine {
  int ranks_per_l3;
  int l3s_per_node;
  int nodes_per_package;
};

std::vector<RankPlace> places_on(const Machine& machine, int ranks, bool spread = false) {
  const int l3s = (ranks + machine.ranks_per_l3 - 1) / machine.ranks_per_l3;
  std::vector<RankPlace> places;
  for (int rank = 0; rank < ranks; ++rank) {
    const int l3 = spread ? rank % l3s : rank / machine.ranks_per_l3;
    const int node = l3 / machine.l3s_per_node;
    places.push_back({node / machine.nodes_per_package, node, l3, rank, rank, rank});
  }
  return places;
}

/// Checks the invariants over all ranks.
template <class Made>
void check(const Made& made, int ranks) {
  const Hierarchy first = made(0);
  const int group_max = Hierarchy::group_ranks_max(ranks);
  std::set<int> top;
  for (int self = 0; self < ranks; ++self) {
    const Hierarchy own = made(self);
    ASSERT_EQ(own.levels(), first.levels());
    const auto& groups = own.groups();
    ASSERT_FALSE(groups.empty());
    for (size_t level = 0; level < groups.size(); ++level) {
      const Hierarchy::Group& group = groups[level];
      EXPECT_LE(group.members.size(), static_cast<size_t>(group_max));
      EXPECT_EQ(group.members[group.own], self);
      // All members compute the same group.
      for (const int member : group.members) {
        EXPECT_EQ(made(member).groups()[level].members, group.members);
      }
      if (level + 1 < groups.size()) EXPECT_EQ(group.own, 0u) << "only leaders go on";
    }
    if (own.is_top()) top.insert(self);
    EXPECT_EQ(own.is_top(), own.top_delegate(self) == self);
    EXPECT_EQ(own.delegate(0, self), self);
    for (int level = 0; level < first.levels(); ++level) {
      for (int rank = 0; rank < ranks; ++rank)
        ASSERT_EQ(own.delegate(level, rank), first.delegate(level, rank));
    }
  }
  EXPECT_LE(top.size(), static_cast<size_t>(group_max));
  size_t ranks_in_lowest = 0;
  for (const auto& group : first.lowest_groups()) ranks_in_lowest += group.size();
  EXPECT_EQ(ranks_in_lowest, static_cast<size_t>(ranks));
  // Every rank is reached from any root, in fewer steps than there are groups on the path.
  for (const int root : {0, ranks / 2, ranks - 1}) {
    for (int self = 0; self < ranks; ++self) {
      int steps = 0;
      for (int at = self; at != root; ++steps) {
        const int speaks = made(at).read_by_self(root);
        ASSERT_GE(speaks, 0);
        ASSERT_LT(steps, 2 * first.levels());
        at = speaks;
      }
    }
    EXPECT_EQ(made(root).read_by_self(root), -1);
  }
}

TEST(HierarchyByRank, HasConsecutiveRanksInEachGroup) {
  for (const int ranks : {2, 3, 4, 5, 8, 9, 16, 17, 33, 64, 100}) {
    SCOPED_TRACE(ranks);
    const auto made = [ranks](int self) { return Hierarchy::by_rank(ranks, self); };
    check(made, ranks);
    for (int level = 0; level < made(0).levels(); ++level) {
      const Hierarchy groups = made(0);
      for (int rank = 1; rank < ranks; ++rank) {
        EXPECT_LE(groups.delegate(level, rank - 1), groups.delegate(level, rank));
        EXPECT_LE(groups.delegate(level, rank), rank) << "the leader is the first";
      }
    }
  }
  EXPECT_EQ(Hierarchy::by_rank(64, 0).text(), "8 x 8");
  EXPECT_EQ(Hierarchy::by_rank(256, 0).text(), "16 x 16");
  EXPECT_EQ(Hierarchy::by_rank(1000, 0).text(), "16 x 16 x 4");
}

TEST(HierarchyByPlace, KeepsApartWhatSharesNoCache) {
  for (const bool spread : {false, true}) {
    const std::vector<RankPlace> places = places_on({8, 2, 2}, 64, spread);
    const auto made = [&](int self) { return Hierarchy::by_place(places, self); };
    check(made, 64);
    const Hierarchy groups = made(0);
    for (const auto& group : groups.lowest_groups()) {
      for (const int rank : group) {
        EXPECT_EQ(places[static_cast<size_t>(rank)].l3, places[static_cast<size_t>(group[0])].l3);
      }
    }
    EXPECT_EQ(groups.text(), "8 x 4 x 2");
  }
}

TEST(HierarchyByPlace, CutsWhatIsTooLargeAndSkipsWhatIsTooSmall) {
  // 32 ranks under one cache, two packages.
  const std::vector<RankPlace> large = places_on({32, 1, 1}, 64);
  const auto of_large = [&](int self) { return Hierarchy::by_place(large, self); };
  check(of_large, 64);
  EXPECT_EQ(of_large(0).text(), "8 x 4 x 2");
  // Pairs under a cache: not worth a level.
  const std::vector<RankPlace> small = places_on({2, 8, 2}, 64);
  const auto of_small = [&](int self) { return Hierarchy::by_place(small, self); };
  check(of_small, 64);
  const Hierarchy groups = of_small(0);
  for (const auto& group : groups.lowest_groups()) EXPECT_EQ(group.size(), 8u);
}

TEST(HierarchyByPlace, GoesByRankWherePlacesAreNotKnown) {
  const std::vector<RankPlace> anywhere(64, RankPlace{-1, -1, -1, -1, -1, -1});
  const auto made = [&](int self) { return Hierarchy::by_place(anywhere, self); };
  check(made, 64);
  EXPECT_EQ(made(0).text(), "8 x 8");
  EXPECT_EQ(made(9).groups()[0].members, Hierarchy::by_rank(64, 9).groups()[0].members);
}

TEST(HierarchyByPlace, TakesAnyNumberOfRanks) {
  for (const int ranks : {2, 3, 7, 16, 24, 48, 63}) {
    SCOPED_TRACE(ranks);
    const std::vector<RankPlace> places = places_on({6, 2, 2}, ranks, true);
    check([&](int self) { return Hierarchy::by_place(places, self); }, ranks);
  }
}

}  // namespace
}  // namespace hearth::coll
