#include "base/counts.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(counts, products_and_sums_that_fit_are_exact) {
  EXPECT_EQ(saturated_product(3, 7), 21);
  EXPECT_EQ(saturated_product(-3, 7), -21);
  EXPECT_EQ(saturated_product(0, INT64_MAX), 0);
  EXPECT_EQ(saturated_product(1, INT64_MAX), INT64_MAX);
  EXPECT_EQ(saturated_sum(INT64_MAX, -1), INT64_MAX - 1);
}

TEST(counts, others_are_the_nearest_that_fits) {
  EXPECT_EQ(saturated_product(2, INT64_MAX / 2 + 1), INT64_MAX);
  EXPECT_EQ(saturated_product(int64_t{1} << 40, int64_t{1} << 40), INT64_MAX);
  EXPECT_EQ(saturated_product(-2, INT64_MAX), -INT64_MAX);
  EXPECT_EQ(saturated_product(-2, INT64_MIN), INT64_MAX);
  EXPECT_EQ(saturated_sum(INT64_MAX, 1), INT64_MAX);
  EXPECT_EQ(saturated_sum(-INT64_MAX, -INT64_MAX), -INT64_MAX);
}

}  // namespace
}  // namespace hearth
