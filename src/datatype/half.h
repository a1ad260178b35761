// Half-precision numbers (IEEE 754 binary16), which C++ compilers of our day lack. Computing in float and
// rounding once gives what a machine with half-precision arithmetic gives for sums and products: float has
// more than twice the digits.
#pragma once

#include <bit>
#include <cstdint>

namespace hearth::datatype {

struct Half {
  uint16_t bits;
};

inline float to_float(Half half) {
  const uint32_t sign = uint32_t{half.bits & 0x8000u} << 16;
  const uint32_t exponent = half.bits >> 10 & 0x1fu;
  const uint32_t fraction = half.bits & 0x3ffu;
  if (exponent == 0) {
    // Subnormal: the fraction counts units of 2^-24.
    const float value = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

/// Rounds to nearest, ties to even.
inline Half to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000u;
  uint32_t magnitude = bits & 0x7fffffffu;
  uint32_t result;
  if (magnitude > 0x7f800000u) {
    result = 0x7e00u | (magnitude >> 13 & 0x1ffu);  // not a number, and quiet
  } else if (magnitude >= 0x477ff000u) {
    result = 0x7c00u;  // 65520 and more round to infinity
  } else if (magnitude < 0x38800000u) {
    // Below 2^-14: at 0.5 the last digit of a float is worth 2^-24, so the addition rounds as it should.
    result = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - std::bit_cast<uint32_t>(0.5f);
  } else {
    magnitude += 0xfffu + (magnitude >> 13 & 1u);
    result = (magnitude - 0x38000000u) >> 13;
  }
  return {static_cast<uint16_t>(sign | result)};
}

}  // namespace hearth::datatype
