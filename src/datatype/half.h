// Half-precision numbers (IEEE 754 binary16), which current C++ compilers lack. Sums and products that are
// computed in float and rounded once are equal to those of half-precision arithmetic, because float has more
// than twice the digits.
//
// Always inlined, because the reductions are compiled for several instruction sets (reduce_loops.h). Without
// branches, so that the compiler can vectorize the code.
#pragma once

#include <cstdint>

namespace hearth::datatype {

struct Half {
  uint16_t bits;
};

[[gnu::always_inline]] inline float to_float(Half half) {
  const uint32_t sign = uint32_t{half.bits & 0x8000u} << 16;
  const uint32_t exponent = half.bits >> 10 & 0x1fu;
  const uint32_t fraction = half.bits & 0x3ffu;
  // The fraction of a subnormal number counts units of 2^-24.
  const float subnormal = static_cast<float>(static_cast<int32_t>(fraction)) * 0x1p-24f;
  const uint32_t normal = (half.bits & 0x7fffu) << 13;
  const uint32_t shift = exponent == 31 ? 224u << 23 : 112u << 23;  // infinity, NaN: to 255
  const uint32_t magnitude = exponent == 0 ? __builtin_bit_cast(uint32_t, subnormal) : normal + shift;
  return __builtin_bit_cast(float, sign | magnitude);
}

/// Rounds to nearest, ties to even.
[[gnu::always_inline]] inline Half to_half(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t not_a_number = 0x7e00u | (magnitude >> 13 & 0x1ffu);  // quiet NaN
  // Below 2^-14: at 0.5 the last digit of a float is 2^-24, so the addition rounds correctly.
  const float at_half = __builtin_bit_cast(float, magnitude) + 0.5f;
  const uint32_t subnormal = __builtin_bit_cast(uint32_t, at_half) - 0x3f000000u;
  const uint32_t normal = (magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13;
  uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
  result = magnitude >= 0x477ff000u ? 0x7c00u : result;  // 65520 and more round to infinity
  result = magnitude > 0x7f800000u ? not_a_number : result;
  return {static_cast<uint16_t>(sign | result)};
}

}  // namespace hearth::datatype
