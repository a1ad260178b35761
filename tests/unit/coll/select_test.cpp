// Selection of algorithms, by the table and by the user.
#include "coll/select.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "tune/threshold.h"

namespace hearth::coll {
namespace {

using Function = int();
int small() {
  return 1;
}
int large() {
  return 2;
}
int general() {
  return 3;
}

constexpr Algorithm<Function> kTable[] = {
    HEARTH_COLL_ROW(small, shape.commutative, shape.bytes <= 100),
    HEARTH_COLL_ROW(large, shape.size > 2, shape.bytes > 1000),
    HEARTH_COLL_ROW(general, true, true),
};

// Set before any parameter is read: the library reads its parameters once.
const bool wishes_set = [] {
  return setenv("HEARTH_COLL_ALGORITHMS", "nonsense,bcast=chain,allreduce=no_such,gather=binomial", 1) == 0;
}();

TEST(Select, TakesTheFirstRowThatIsRightAndPreferred) {
  const auto chosen = [](const Shape& shape) { return select(Collective::alltoall, kTable, shape)(); };
  EXPECT_EQ(chosen({.size = 4, .bytes = 100}), 1);
  EXPECT_EQ(chosen({.size = 4, .bytes = 100, .commutative = false}), 3);
  EXPECT_EQ(chosen({.size = 4, .bytes = 101}), 3);
  EXPECT_EQ(chosen({.size = 4, .bytes = 5000}), 2);
  EXPECT_EQ(chosen({.size = 2, .bytes = 5000}), 3);
}

TEST(Select, FollowsWishesWhereTheyAreRight) {
  ASSERT_TRUE(wishes_set);
  EXPECT_STREQ(wished_algorithm(Collective::bcast, 8), "chain");
  EXPECT_STREQ(wished_algorithm(Collective::gather, 8), "binomial");
  EXPECT_EQ(wished_algorithm(Collective::allreduce, 8), nullptr) << "there is no such algorithm";
  EXPECT_EQ(wished_algorithm(Collective::scatter, 8), nullptr);

  constexpr Algorithm<Function> table[] = {
      {"binomial", [](const Shape& shape) { return shape.size > 2; }, [](const Shape&) { return false; },
       small},
      {"linear", [](const Shape&) { return true; }, [](const Shape&) { return true; }, general},
  };
  EXPECT_EQ(select(Collective::gather, table, {.size = 3})(), 1);
  EXPECT_EQ(select(Collective::gather, table, {.size = 2})(), 3) << "the wish is not right for two ranks";
}

TEST(Select, FollowsTheHintsOfACommunicatorWhereTheParameterIsSilent) {
  constexpr uint32_t kHinted = 12;
  ASSERT_TRUE(set_wishes(kHinted, "bcast=binomial,allreduce=ring").ok());
  EXPECT_STREQ(wished_algorithm(Collective::bcast, kHinted), "chain") << "the parameter counts first";
  EXPECT_STREQ(wished_algorithm(Collective::allreduce, kHinted), "ring");
  EXPECT_EQ(wished_algorithm(Collective::allreduce, 8), nullptr) << "of another communicator";
  EXPECT_FALSE(check_wishes("allreduce=no_such").ok());
  EXPECT_FALSE(set_wishes(kHinted, "nonsense").ok());
  EXPECT_STREQ(wished_algorithm(Collective::allreduce, kHinted), "ring") << "an error changes nothing";
  ASSERT_TRUE(set_wishes(kHinted, "").ok());
  EXPECT_EQ(wished_algorithm(Collective::allreduce, kHinted), nullptr);
}

TEST(Select, NamesTheValidEntriesForAnInvalidOne) {
  const auto refusal = [](const char* text) {
    EXPECT_FALSE(check_wishes(text).ok());
    return std::string(last_failure_text());
  };
  EXPECT_EQ(refusal("bcast=chain,barrier=foo"),
            "hearth_coll_algorithms: \"barrier=foo\" names no algorithm of barrier; there are flat, tree, "
            "machines, dissemination");
  EXPECT_EQ(refusal("reduce=foo"),
            "hearth_coll_algorithms: \"reduce=foo\" names no algorithm of reduce; there are flat, tree, "
            "pipeline, machines, ring_gather, binomial, in_order");
  EXPECT_EQ(refusal("foo=ring"),
            "hearth_coll_algorithms: \"foo=ring\" names no collective; there are allgather, allreduce, "
            "alltoall, barrier, bcast, gather, reduce, reduce_scatter, scan, scatter");
  EXPECT_NE(refusal("ring").find("is not of the form collective=algorithm"), std::string::npos);
}

TEST(Select, LimitsMoveTheChoice) {
  const auto of = [](int64_t bytes, int64_t whole_bytes_max) {
    return std::string(
        algorithm_for(Collective::allreduce,
                      {.size = 4, .bytes = bytes, .pipeline = true, .whole_bytes_max = whole_bytes_max}));
  };
  EXPECT_EQ(of(6000, 6000), "pipeline_whole");
  EXPECT_EQ(of(6001, 6000), "pipeline_shares");
  EXPECT_EQ(of(8, 0), "pipeline_shares");
  EXPECT_TRUE(flat_slots_pay(32, 32, false));
  EXPECT_FALSE(flat_slots_pay(33, 32, false));
  EXPECT_TRUE(flat_slots_pay(33, tune::kNever, false));
  EXPECT_TRUE(flat_slots_pay(33, 32, true)) << "where ranks take turns";
  EXPECT_FALSE(flat_slots_pay(3, 0, false));
  EXPECT_TRUE(flat_slots_pay(2, 0, false)) << "two are no groups";
}

TEST(Select, WhatAProfileSaysCountsForRanksWithAProcessorEach) {
  const int64_t standard = whole_bytes_max(2, false);
  const std::vector<tune::Tuned> tuned = {{param::Id::coll_whole_bytes_max, std::nullopt, 64 * 1024}};
  tune::use(tuned);
  EXPECT_EQ(whole_bytes_max(16, false), 64 * 1024);
  EXPECT_EQ(whole_bytes_max(2, true), standard);
  const std::vector<tune::Tuned> any = {{param::Id::coll_whole_bytes_max, std::nullopt, tune::kNever}};
  tune::use(any);
  EXPECT_EQ(whole_bytes_max(16, false), INT64_MAX);
  tune::use({});
  EXPECT_EQ(whole_bytes_max(2, false), standard);
}

TEST(Select, ByDefaultMoreThanFourRanksReduceShorterVectorsCompletely) {
  EXPECT_EQ(whole_bytes_max(2, false), 4096);
  EXPECT_EQ(whole_bytes_max(4, false), 4096);
  EXPECT_EQ(whole_bytes_max(8, false), 2048);
  EXPECT_EQ(whole_bytes_max(16, false), 1024);
  EXPECT_EQ(whole_bytes_max(16, true), 4096) << "where ranks take turns, one synchronisation counts more";
}

TEST(Select, NamesTheAlgorithmThatTheTableGives) {
  EXPECT_STREQ(algorithm_for(Collective::allgather, {.size = 4, .bytes = 8}), "bruck");
  EXPECT_STREQ(algorithm_for(Collective::allgather, {.size = 4, .bytes = 1 << 20}), "ring");
  EXPECT_STREQ(algorithm_for(Collective::allreduce, {.size = 2, .bytes = 8, .count = 1}),
               "recursive_doubling");
  EXPECT_STREQ(algorithm_for(Collective::allreduce, {.size = 2, .bytes = 8, .count = 1, .flat = true}),
               "flat");
  EXPECT_STREQ(algorithm_for(Collective::allreduce, {.size = 64, .bytes = 8, .count = 1, .tree = true}),
               "tree");
  // A ring pays where its shares are long.
  EXPECT_STREQ(algorithm_for(Collective::allreduce, {.size = 8, .bytes = 1 << 16, .count = 1 << 13}), "ring");
  EXPECT_STREQ(algorithm_for(Collective::allreduce, {.size = 128, .bytes = 1 << 16, .count = 1 << 13}),
               "recursive_doubling");
  EXPECT_STREQ(algorithm_for(Collective::allreduce, {.size = 128, .bytes = 1 << 20, .count = 1 << 17}),
               "ring");
  EXPECT_STREQ(algorithm_for(Collective::scatter, {.size = 2, .bytes = 8}), "linear");
  EXPECT_STREQ(algorithm_for(Collective::bcast, {.size = 2, .bytes = 8}), "chain") << "as was wished";
}

}  // namespace
}  // namespace hearth::coll
