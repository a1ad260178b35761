#include "p2p/single_copy_policy.h"

#include <gtest/gtest.h>

namespace hearth::p2p {
namespace {

constexpr uint64_t kBytes = 64 << 20;

struct Costs {
  uint64_t single_copy_ns;
  uint64_t bounce_ns;
};

// Messages with these costs; returns the number that took the slower way.
int slower_ones(SingleCopyPolicy& policy, int messages, Costs costs) {
  const bool best = costs.single_copy_ns < costs.bounce_ns;
  int slower = 0;
  for (int i = 0; i < messages; ++i) {
    const bool by_single_copy = policy.choose();
    policy.update(by_single_copy, kBytes, by_single_copy ? costs.single_copy_ns : costs.bounce_ns);
    slower += by_single_copy != best;
  }
  return slower;
}

constexpr Costs kHugePages = {4'000'000, 14'000'000};
constexpr Costs kSmallPages = {10'000'000, 7'000'000};

TEST(SingleCopyPolicy, UsesSingleCopyFromTheSecondMessageOnIfItIsFaster) {
  SingleCopyPolicy policy;
  EXPECT_EQ(slower_ones(policy, 9, kHugePages), 1) << "the first message";
}

TEST(SingleCopyPolicy, TrialsOfTheSlowerWayBecomeRare) {
  for (const Costs& costs : {kHugePages, kSmallPages}) {
    SingleCopyPolicy policy;
    slower_ones(policy, 1000, costs);
    EXPECT_LE(slower_ones(policy, 2570, costs), 10);
    EXPECT_GE(slower_ones(policy, 2570, costs), 9) << "a change has to be noticed";
  }
}

TEST(SingleCopyPolicy, FollowsAProgramThatChangesItsBuffers) {
  SingleCopyPolicy policy;
  slower_ones(policy, 1000, kSmallPages);
  EXPECT_LE(slower_ones(policy, 1000, kHugePages), 257);
  EXPECT_LE(slower_ones(policy, 1000, kHugePages), 5);
}

TEST(SingleCopyPolicy, KeepsTheCurrentWayIfBothAreEqual) {
  SingleCopyPolicy policy;
  int single_copies = 0;
  for (int i = 0; i < 1000; ++i) {
    const bool by_single_copy = policy.choose();
    policy.update(by_single_copy, kBytes, by_single_copy ? 9'500'000 : 10'000'000);
    single_copies += by_single_copy;
  }
  EXPECT_LE(single_copies, 10);
}

TEST(SingleCopyPolicy, OneInterruptedMessageDoesNotSwitch) {
  SingleCopyPolicy policy;
  slower_ones(policy, 12, kHugePages);
  policy.update(true, kBytes, 40'000'000);
  EXPECT_LE(slower_ones(policy, 20, kHugePages), 2);
}

}  // namespace
}  // namespace hearth::p2p
