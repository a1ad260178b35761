#include "p2p/yield_policy.h"

#include <gtest/gtest.h>

namespace hearth::p2p {
namespace {

constexpr uint64_t kUs = 1000;
constexpr uint64_t kMs = 1000 * kUs;

TEST(YieldPolicy, ShortYieldsGoOn) {
  YieldPolicy policy(false);
  for (uint64_t now = 0; now < 100 * kMs; now += kMs) {
    EXPECT_TRUE(policy.yields(now));
    policy.yielded(now, now + 50 * kUs);
  }
}

TEST(YieldPolicy, ALongYieldEndsThemForAWhile) {
  YieldPolicy policy(false);
  policy.yielded(kMs, 4 * kMs);
  EXPECT_FALSE(policy.yields(4 * kMs));
  EXPECT_FALSE(policy.yields(900 * kMs));
  EXPECT_TRUE(policy.yields(1100 * kMs)) << "the other process may have ended";
}

TEST(YieldPolicy, RanksThatShareProcessorsYieldToEachOther) {
  YieldPolicy policy(true);
  policy.yielded(kMs, 40 * kMs);
  EXPECT_TRUE(policy.yields(41 * kMs));
}

}  // namespace
}  // namespace hearth::p2p
