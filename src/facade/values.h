// Constants that have another value in the ABI of a facade: ranks, tags, modes, levels, error classes.
//
// A set of constants is an array of pairs, written by api/generator/facade.py. A number that is no constant
// of its set passes unchanged, unless it is a constant of the set in the standard ABI: then it becomes
// kNoConstant, so that an invalid argument is not taken for a valid one.
#pragma once

namespace hearth::facade {

struct Pair {
  int there;  // in the facade's ABI
  int here;   // in the standard ABI
};

inline constexpr int kNoConstant = -2147483647;
/// A bit that no set of or-ed constants has.
inline constexpr int kNoBit = 1 << 30;

template <int N, class Number>
constexpr Number value_in(const Pair (&set)[N], Number value) {
  bool taken = false;
  for (const Pair& pair : set) {
    if (pair.there == value) return pair.here;
    taken |= pair.here == value;
  }
  return taken ? Number{kNoConstant} : value;
}

template <int N, class Number>
constexpr Number value_out(const Pair (&set)[N], Number value) {
  for (const Pair& pair : set) {
    if (pair.here == value) return pair.there;
  }
  return value;
}

template <int N>
constexpr int bits_in(const Pair (&set)[N], int value) {
  int result = 0;
  for (const Pair& pair : set) {
    if (value & pair.there) result |= pair.here;
    value &= ~pair.there;
  }
  return value == 0 ? result : result | kNoBit;
}

template <int N>
constexpr int bits_out(const Pair (&set)[N], int value) {
  int result = 0;
  for (const Pair& pair : set) {
    if (value & pair.here) result |= pair.there;
  }
  return result;
}

}  // namespace hearth::facade
