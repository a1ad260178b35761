// Tests how the work of a rank grows with the number of ranks. The choice of algorithms is based on this.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "coll/hierarchy.h"
#include "counted_calls.h"

namespace hearth::coll {
namespace {

constexpr int kTimes = 16;

Counted count(const CountedCall& call, int ranks) {
  CountedRanks machine(ranks);
  Counted counted = count(call, machine, kTimes);
  EXPECT_TRUE(counted.right_data) << call.collective << " by " << call.algorithm << ", " << ranks << " ranks";
  return counted;
}

// Every algorithm computes the right result and counts at least the lower bounds; otherwise some access is
// not counted.
TEST(Counts, AreNotBelowWhatMustBeDone) {
  for (const auto calls : {short_calls(), long_calls()}) {
    for (const CountedCall& call : calls) {
      for (const int ranks : {2, 3, 8, 20}) {
        if (!is_right(call, ranks)) continue;
        const Counts most = count(call, ranks).most;
        const Counts least = bound(call, ranks);
        const auto where = [&] {
          return std::string(call.collective) + " by " + call.algorithm + ", " + std::to_string(ranks);
        };
        EXPECT_GE(most.lines_read, least.lines_read) << where();
        EXPECT_GE(most.reduced, least.reduced) << where();
        EXPECT_GE(most.waits, 1) << where();
        EXPECT_GE(most.lines_written, 1) << where();
      }
    }
  }
}

TEST(Counts, OfFlatSlotsGrowWithTheRanks) {
  for (const int ranks : {2, 8, 32, 128, 256}) {
    for (const CountedCall call : {CountedCall{"barrier", "flat", 0}, CountedCall{"allreduce", "flat", 8}}) {
      const Counts most = count(call, ranks).most;
      EXPECT_EQ(most.lines_read, ranks - 1) << call.collective;
      EXPECT_EQ(most.waits, 1);
      EXPECT_EQ(most.chain, 1);
      // One line for the own slot, and in every fourth collective the line of `done`.
      EXPECT_EQ(most.lines_written, 1.25);
    }
  }
}

TEST(Counts, OfATreeGrowWithTheGroups) {
  for (const int ranks : {8, 32, 64, 100, 256}) {
    const int group = Hierarchy::group_ranks_max(ranks);
    const int levels = Hierarchy::by_rank(ranks, 0).levels();
    ASSERT_EQ(levels, 2);
    for (const CountedCall call : {CountedCall{"barrier", "tree", 0}, CountedCall{"allreduce", "tree", 8}}) {
      const Counted counted = count(call, ranks);
      // A leader reads the slots of its group and of the other leaders; every other rank reads one slot.
      EXPECT_LE(counted.most.lines_read, 2 * group - 1) << call.collective << ", " << ranks;
      EXPECT_EQ(counted.by_rank.back().lines_read, 1);
      EXPECT_EQ(counted.most.chain, 2 * levels - 1);
    }
    const Counted bcast = count({"bcast", "tree", 8}, ranks);
    EXPECT_EQ(bcast.by_rank.back().lines_read, 1);
    EXPECT_EQ(bcast.most.waits, 1);
    EXPECT_EQ(bcast.most.chain, levels);
  }
}

TEST(Counts, OfMessagesGrowWithTheLogarithm) {
  for (const int ranks : {2, 8, 32, 100, 256}) {
    const double rounds = std::ceil(std::log2(ranks));
    const Counts most = count({"barrier", "dissemination", 0}, ranks).most;
    EXPECT_EQ(most.messages, rounds);
    EXPECT_EQ(most.chain, rounds);
    EXPECT_LE(count({"bcast", "binomial", 8}, ranks).most.chain, rounds);
  }
}

// If each rank reduces a share, it reads and copies at most about two vectors, for any number of ranks.
TEST(Counts, OfSharesAreTheLeastThereIs) {
  for (const int ranks : {2, 4, 16, 32}) {
    const CountedCall call{"allreduce", "pipeline_shares", 64 * 1024};
    const Counts most = count(call, ranks).most;
    const Counts least = bound(call, ranks);
    EXPECT_LE(most.reduced, 1.05 * least.reduced) << ranks;
    EXPECT_LE(most.lines_read, 1.15 * least.lines_read) << ranks;
    EXPECT_LE(most.copied, 2.0 * 64 * 1024) << ranks;
  }
}

}  // namespace
}  // namespace hearth::coll
