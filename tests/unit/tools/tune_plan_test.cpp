// The measurements that `hearth tune` plans on made-up machines.
#include "tune_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "coll/select.h"
#include "tune/search.h"
#include "tune/threshold.h"
#include "tune_collectives.h"

namespace hearth::tools {
namespace {

using param::Id;

CollectiveDivision division_of(Id limit, int processors) {
  for (const CollectiveDivision& division : collective_divisions(processors)) {
    if (division.limit == limit) return division;
  }
  ADD_FAILURE() << tune::name_of(limit) << " is not measured";
  return {};
}

bool are_coarse_lengths_among(const std::vector<uint64_t>& places) {
  const std::vector<uint64_t> coarse = tune::coarse_lengths(places);
  return std::is_sorted(places.begin(), places.end()) &&
         std::includes(places.begin(), places.end(), coarse.begin(), coarse.end());
}

TEST(TunePlan, EveryLimitIsAskedForOnce) {
  for (const int processors : {1, 2, 64}) {
    const std::vector<CollectiveDivision> all = collective_divisions(processors);
    EXPECT_EQ(all.size(), tune::limits().size());
    for (const tune::Limit& limit : tune::limits()) division_of(limit.parameter, processors);
  }
}

TEST(TunePlan, AlgorithmsAreSuchAsTheTableHas) {
  for (const CollectiveDivision& division : collective_divisions(8)) {
    for (const char* algorithm : {division.below, division.above})
      EXPECT_TRUE(coll::check_wishes(std::string("allreduce=") + algorithm).ok()) << algorithm;
  }
}

TEST(TunePlan, NoRankSharesAProcessor) {
  for (int processors = 1; processors < 300; ++processors) {
    for (const CollectiveDivision& division : collective_divisions(processors)) {
      EXPECT_EQ(division.places.empty(), processors < division.processors_min) << processors;
      if (division.places.empty()) continue;
      EXPECT_LE(division.ranks, processors);
      EXPECT_TRUE(are_coarse_lengths_among(division.places)) << processors;
      if (division.by_ranks) EXPECT_EQ(static_cast<int>(division.places.back()), division.ranks);
    }
  }
}

TEST(TunePlan, LengthsAndNumbersOfRanks) {
  const CollectiveDivision whole = division_of(Id::coll_whole_bytes_max, 2);
  EXPECT_EQ(whole.ranks, 2);
  EXPECT_EQ(whole.places.front(), 1024u);
  EXPECT_EQ(whole.places.back(), 256u * 1024);
  EXPECT_EQ(division_of(Id::coll_whole_bytes_max, 64).ranks, 16);
  EXPECT_EQ(division_of(Id::coll_flat_ranks_max, 4).places, std::vector<uint64_t>{4});
  EXPECT_EQ(division_of(Id::coll_flat_ranks_max, 20).places, (std::vector<uint64_t>{4, 6, 8, 12, 16, 20}));
}

TEST(TunePlan, QuestionsAreCountedAndStandardsAreTheTables) {
  EXPECT_EQ(collective_questions(1), 0u);
  EXPECT_EQ(collective_questions(2), 7u);
  EXPECT_GT(collective_questions(4), 7u);
  EXPECT_EQ(standard_of(Id::coll_whole_bytes_max), param::get_bytes(Id::coll_whole_bytes_max));
}

}  // namespace
}  // namespace hearth::tools
