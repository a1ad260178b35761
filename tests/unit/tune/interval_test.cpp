// The interval of the median, compared with the binomial distribution.
#include "tune/interval.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace hearth::tune {
namespace {

// The values 1 to n: the index of a bound is its value minus 1.
Interval interval_of(int n) {
  std::vector<double> values(static_cast<size_t>(n));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(values.size() - i);
  return median_interval(values);
}

TEST(MedianInterval, HasNoBoundsBelowSixValues) {
  const Interval few = interval_of(5);
  EXPECT_EQ(few.low, 0);
  EXPECT_EQ(few.high, std::numeric_limits<double>::infinity());
  const Interval six = interval_of(6);
  EXPECT_EQ(six.low, 1);
  EXPECT_EQ(six.high, 6);
}

// 2^-n is no double from n = 1075 on. For large n, the binomial distribution is close to a normal one.
TEST(MedianInterval, KeepsItsWidthForManyValues) {
  for (const int n : {100, 1000, 1074, 1075, 1100, 5000, 100000}) {
    const Interval interval = interval_of(n);
    const double half_width = 1.96 * std::sqrt(n) / 2;
    EXPECT_NEAR(interval.low, n / 2.0 - half_width, 2) << n;
    EXPECT_NEAR(interval.high, n / 2.0 + half_width, 2) << n;
    EXPECT_EQ(interval.middle, (n + 1) / 2.0) << n;
  }
}

}  // namespace
}  // namespace hearth::tune
