#include "topo/relation.h"

#include <gtest/gtest.h>

namespace hearth::topo {
namespace {

using shm::RankPlace;

// package, numa, l3, l2, core, processor
constexpr RankPlace kHere = {0, 1, 2, 3, 4, 5};

TEST(Relation, IsTheSmallestThingShared) {
  EXPECT_EQ(relation_of(kHere, {0, 1, 2, 3, 4, 6}), Relation::smt);
  EXPECT_EQ(relation_of(kHere, {0, 1, 2, 3, 9, 9}), Relation::l2);
  EXPECT_EQ(relation_of(kHere, {0, 1, 2, 9, 9, 9}), Relation::l3);
  EXPECT_EQ(relation_of(kHere, {0, 1, 9, 9, 9, 9}), Relation::numa);
  EXPECT_EQ(relation_of(kHere, {0, 9, 9, 9, 9, 9}), Relation::package);
  EXPECT_EQ(relation_of(kHere, {9, 9, 9, 9, 9, 9}), Relation::machine);
}

TEST(Relation, WhatIsUnknownIsNotShared) {
  constexpr RankPlace kNowhere = {-1, -1, -1, -1, -1, -1};
  EXPECT_EQ(relation_of(kNowhere, kNowhere), Relation::unknown);
  EXPECT_EQ(relation_of(kHere, kNowhere), Relation::unknown);
  // Bound to several cores, each rank under one L3.
  EXPECT_EQ(relation_of({0, 0, 1, -1, -1, -1}, {0, 0, 1, -1, -1, -1}), Relation::l3);
  EXPECT_EQ(relation_of({0, 0, -1, -1, -1, -1}, {0, 1, -1, -1, -1, -1}), Relation::package);
}

TEST(Relation, IsSymmetric) {
  constexpr RankPlace kPlaces[] = {kHere, {0, 1, 2, 9, 9, 9}, {-1, -1, -1, -1, -1, -1}, {1, 2, -1, -1, 8, 8}};
  for (const RankPlace& a : kPlaces) {
    for (const RankPlace& b : kPlaces) EXPECT_EQ(relation_of(a, b), relation_of(b, a));
  }
}

TEST(Relation, HasNames) {
  EXPECT_STREQ(relation_name(Relation::self), "self");
  EXPECT_STREQ(relation_name(Relation::unknown), "unknown");
}

}  // namespace
}  // namespace hearth::topo
