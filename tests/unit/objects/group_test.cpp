// Group algebra, against the definitions of MPI 5.0 section 7.3.
#include "objects/group.h"

#include <gtest/gtest.h>

#include "mpi.h"

namespace hearth::objects {
namespace {

Group group_of(Peers peers, PeerIndex self = 0) {
  Group group;
  group.peers = std::move(peers);
  group.index(self);
  return group;
}

TEST(Group, KnowsItsRanks) {
  const Group identity = group_of({0, 1, 2, 3}, 2);
  EXPECT_EQ(identity.rank, 2);
  EXPECT_EQ(identity.rank_of(3), 3);
  EXPECT_EQ(identity.rank_of(4), MPI_UNDEFINED);
  EXPECT_EQ(identity.rank_of(-1), MPI_UNDEFINED);

  const Group shuffled = group_of({7, 2, 5}, 5);
  EXPECT_EQ(shuffled.rank, 2);
  EXPECT_EQ(shuffled.rank_of(7), 0);
  EXPECT_EQ(shuffled.rank_of(2), 1);
  EXPECT_EQ(shuffled.rank_of(0), MPI_UNDEFINED);
  EXPECT_EQ(group_of({7, 2, 5}, 3).rank, MPI_UNDEFINED);
}

TEST(Group, Compares) {
  const Group group = group_of({4, 1, 3});
  EXPECT_EQ(compare(group, group_of({4, 1, 3})), MPI_IDENT);
  EXPECT_EQ(compare(group, group_of({1, 3, 4})), MPI_SIMILAR);
  EXPECT_EQ(compare(group, group_of({1, 3, 5})), MPI_UNEQUAL);
  EXPECT_EQ(compare(group, group_of({1, 3})), MPI_UNEQUAL);
  EXPECT_EQ(compare(group_of({}), group_of({})), MPI_IDENT);
}

TEST(Group, KeepsTheOrderOfTheFirst) {
  const Group one = group_of({5, 3, 1});
  const Group other = group_of({0, 1, 2, 3});
  EXPECT_EQ(unite(one, other), (Peers{5, 3, 1, 0, 2}));
  EXPECT_EQ(intersect(one, other), (Peers{3, 1}));
  EXPECT_EQ(intersect(other, one), (Peers{1, 3}));
  EXPECT_EQ(subtract(one, other), (Peers{5}));
  EXPECT_EQ(subtract(other, one), (Peers{0, 2}));
  EXPECT_EQ(subtract(one, one), Peers());
}

TEST(Group, IncludesAndExcludes) {
  const Group group = group_of({10, 11, 12, 13});
  const int ranks[] = {3, 0};
  Peers included;
  ASSERT_TRUE(include(group, 2, ranks, included).ok());
  EXPECT_EQ(included, (Peers{13, 10}));
  Peers excluded;
  ASSERT_TRUE(exclude(group, 2, ranks, excluded).ok());
  EXPECT_EQ(excluded, (Peers{11, 12}));
  Peers all;
  ASSERT_TRUE(exclude(group, 0, nullptr, all).ok());
  EXPECT_EQ(all, group.peers);
}

TEST(Group, RefusesWrongRanks) {
  const Group group = group_of({10, 11, 12});
  Peers peers;
  for (const auto& ranks : {std::vector<int>{0, 3}, {-1, 0}, {1, 1}}) {
    EXPECT_EQ(include(group, 2, ranks.data(), peers).error_class(), MPI_ERR_RANK);
    EXPECT_EQ(exclude(group, 2, ranks.data(), peers).error_class(), MPI_ERR_RANK);
  }
  EXPECT_TRUE(peers.empty());
}

TEST(Group, ExpandsRanges) {
  std::vector<int> ranks;
  const int ranges[][3] = {{6, 7, 1}, {1, 6, 2}, {0, 9, 4}, {9, 2, -3}, {4, 4, -5}};
  ASSERT_TRUE(expand(5, ranges, ranks).ok());
  // The standard's own example (section 7.3.2) in the middle.
  EXPECT_EQ(ranks, (std::vector<int>{6, 7, 1, 3, 5, 0, 4, 8, 9, 6, 3, 4}));
}

TEST(Group, RefusesEndlessRanges) {
  std::vector<int> ranks;
  const int no_stride[][3] = {{0, 3, 0}};
  EXPECT_EQ(expand(1, no_stride, ranks).error_class(), MPI_ERR_ARG);
  const int wrong_way[][3] = {{3, 0, 1}};
  EXPECT_EQ(expand(1, wrong_way, ranks).error_class(), MPI_ERR_ARG);
  const int huge[][3] = {{0, 2147483647, 1}};
  EXPECT_EQ(expand(1, huge, ranks).error_class(), MPI_ERR_RANK);
}

}  // namespace
}  // namespace hearth::objects
