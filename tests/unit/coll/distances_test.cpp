#include "coll/distances.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace hearth::coll {
namespace {

TEST(Tournament, EachMeetsEachOtherOnce) {
  for (int ranks = 1; ranks <= 33; ++ranks) {
    std::set<std::pair<int, int>> met;
    for (int round = 0; round < tournament_rounds(ranks); ++round) {
      for (int rank = 0; rank < ranks; ++rank) {
        const int partner = partner_in_round(rank, round, ranks);
        if (partner < 0) continue;
        ASSERT_LT(partner, ranks);
        ASSERT_NE(partner, rank);
        ASSERT_EQ(partner_in_round(partner, round, ranks), rank) << "round " << round << " of " << ranks;
        if (rank < partner)
          ASSERT_TRUE(met.emplace(rank, partner).second) << rank << " meets again " << partner;
      }
    }
    EXPECT_EQ(met.size(), static_cast<size_t>(ranks) * static_cast<size_t>(ranks - 1) / 2);
  }
}

TEST(Tournament, EveryRankPlaysIfTheNumberIsEven) {
  EXPECT_EQ(tournament_rounds(16), 15);
  for (int round = 0; round < 15; ++round) {
    for (int rank = 0; rank < 16; ++rank) EXPECT_GE(partner_in_round(rank, round, 16), 0);
  }
}

}  // namespace
}  // namespace hearth::coll
