#include "bench_skew.h"

#include <gtest/gtest.h>

namespace hearth::tools {
namespace {

TEST(BenchSkew, TheRatioIsToTheBetterOfTheTwo) {
  EXPECT_DOUBLE_EQ((SkewPoint{0, 200, 100, 150}).ratio(), 1.5);
  EXPECT_DOUBLE_EQ((SkewPoint{5, 100, 400, 90}).ratio(), 0.9);
}

TEST(BenchSkew, TheVerdictNamesEveryDelayThatIsBehind) {
  const SkewPoint good = {0, 200, 100, 109}, bad = {2, 100, 200, 120}, worse = {7, 100, 300, 250};
  EXPECT_EQ(skew_verdict({good}), "skew-aware is within 10 % of the better of the two at all 1 delays");
  EXPECT_EQ(skew_verdict({good, bad, worse}),
            "skew-aware is more than 10 % behind the better of the two at delay 2 (1.20), 7 (2.50)");
  EXPECT_EQ(skew_verdict({}), "nothing was measured");
}

}  // namespace
}  // namespace hearth::tools
