// Half-precision numbers: all 65536 values, and rounding at every boundary between two.
#include "datatype/half.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hearth::datatype {
namespace {

/// By the definition of the format.
float value_of(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  const float sign = bits & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
}

TEST(Half, EveryNumberThereAndBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const Half half{static_cast<uint16_t>(bits)};
    const float want = value_of(half.bits);
    const float got = to_float(half);
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(got)) << bits;
      ASSERT_TRUE(std::isnan(to_float(to_half(got)))) << bits;
    } else {
      ASSERT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(want)) << bits;
      ASSERT_EQ(to_half(got).bits, half.bits) << bits;
    }
  }
}

TEST(Half, RoundsToNearestTiesToEven) {
  for (uint16_t bits = 0; bits < 0x7bff; ++bits) {
    const float low = value_of(bits);
    const float high = value_of(static_cast<uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;  // exact in float
    const uint16_t even = bits % 2 == 0 ? bits : static_cast<uint16_t>(bits + 1);
    ASSERT_EQ(to_half(middle).bits, even) << bits;
    ASSERT_EQ(to_half(-middle).bits, even | 0x8000) << bits;
    ASSERT_EQ(to_half(std::nextafter(middle, 0.0f)).bits, bits) << bits;
    ASSERT_EQ(to_half(std::nextafter(middle, INFINITY)).bits, bits + 1) << bits;
  }
}

TEST(Half, OverflowsToInfinity) {
  EXPECT_EQ(to_half(65519.99f).bits, 0x7bff);
  EXPECT_EQ(to_half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(to_half(-1e30f).bits, 0xfc00);
  EXPECT_EQ(to_half(1e-30f).bits, 0);
}

}  // namespace
}  // namespace hearth::datatype
