// The loops of the predefined operations, compiled once per instruction set. Instantiated only by the files
// that are compiled for one (reduce_kernels_*.cpp); reduce.cpp selects at run time. Elements are loaded and
// stored with memcpy, because the buffers of C programs may have any address; the compiler vectorizes this
// (these files are built with -O3). All variants give the same bits, because products and sums are not
// contracted (-ffp-contract=off).
//
// As in base/copy_loop.h, this code must not emit a function that the linker could merge with one of another
// file. The template parameter is a type that is local to its file, which makes the templates local too.
// Inline functions of other headers are used only if they are always inlined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "datatype/half.h"
#include "datatype/reduce.h"

namespace hearth::datatype {

namespace reduction {

using objects::OpKind;

#ifdef __SIZEOF_INT128__
using Int128 = __int128;
using Unsigned128 = unsigned __int128;
#endif
#ifdef __SIZEOF_FLOAT128__
using Float128 = __float128;
#endif

template <class T>
struct Complex {
  T real;
  T imaginary;
};

template <class First, class Second>
struct Pair {
  First first;
  Second second;
};

/// The type to compute in. Sums and products of integers wrap around, so it is unsigned. For types shorter
/// than int it has 32 bits, because int arithmetic on promoted shorts may overflow.
template <class T, class = void>
struct Wide {
  using Type = T;
};
template <class T>
struct Wide<T, std::enable_if_t<std::is_integral_v<T>>> {
  using Type = std::conditional_t<(sizeof(T) < sizeof(uint32_t)), uint32_t,
                                  std::conditional_t<sizeof(T) == sizeof(uint32_t), uint32_t, uint64_t>>;
};
#ifdef __SIZEOF_INT128__
template <>
struct Wide<Int128> {
  using Type = Unsigned128;
};
#endif
template <>
struct Wide<Half> {
  using Type = float;
};

/// `Instructions` only makes the templates local to a file: see above.
template <class Instructions>
struct ReduceLoops {
  template <class T>
  static auto widen(T value) {
    if constexpr (std::is_same_v<T, Half>) {
      return to_float(value);
    } else {
      return static_cast<typename Wide<T>::Type>(value);
    }
  }
  template <class T, class W>
  static T narrow(W value) {
    if constexpr (std::is_same_v<T, Half>) {
      return to_half(value);
    } else {
      return static_cast<T>(value);
    }
  }

  template <class T>
  static bool less(T a, T b) {
    if constexpr (std::is_same_v<T, Half>) {
      return to_float(a) < to_float(b);
    } else {
      return a < b;
    }
  }

  struct Sum {
    template <class T>
    static T apply(T a, T b) {
      return narrow<T>(widen(a) + widen(b));
    }
    template <class T>
    static Complex<T> apply(Complex<T> a, Complex<T> b) {
      return {apply(a.real, b.real), apply(a.imaginary, b.imaginary)};
    }
  };
  struct Product {
    template <class T>
    static T apply(T a, T b) {
      return narrow<T>(widen(a) * widen(b));
    }
    template <class T>
    static Complex<T> apply(Complex<T> a, Complex<T> b) {
      const auto ar = widen(a.real), ai = widen(a.imaginary), br = widen(b.real), bi = widen(b.imaginary);
      return {narrow<T>(ar * br - ai * bi), narrow<T>(ar * bi + ai * br)};
    }
  };
  struct Minimum {
    template <class T>
    static T apply(T a, T b) {
      return less(a, b) ? a : b;
    }
  };
  struct Maximum {
    template <class T>
    static T apply(T a, T b) {
      return less(b, a) ? a : b;
    }
  };
  struct BitAnd {
    template <class T>
    static T apply(T a, T b) {
      return static_cast<T>(a & b);
    }
  };
  struct BitOr {
    template <class T>
    static T apply(T a, T b) {
      return static_cast<T>(a | b);
    }
  };
  struct BitXor {
    template <class T>
    static T apply(T a, T b) {
      return static_cast<T>(a ^ b);
    }
  };
  struct LogicalAnd {
    template <class T>
    static T apply(T a, T b) {
      return static_cast<T>((a != 0) & (b != 0));
    }
  };
  struct LogicalOr {
    template <class T>
    static T apply(T a, T b) {
      return static_cast<T>((a != 0) | (b != 0));
    }
  };
  struct LogicalXor {
    template <class T>
    static T apply(T a, T b) {
      return static_cast<T>((a != 0) != (b != 0));
    }
  };
  // Of equal values the lower index is taken (MPI 5.0 section 6.9.4).
  struct MinimumPlace {
    template <class First, class Second>
    static Pair<First, Second> apply(Pair<First, Second> a, Pair<First, Second> b) {
      if (a.first == b.first) return {a.first, less(a.second, b.second) ? a.second : b.second};
      return a.first < b.first ? a : b;
    }
  };
  struct MaximumPlace {
    template <class First, class Second>
    static Pair<First, Second> apply(Pair<First, Second> a, Pair<First, Second> b) {
      if (a.first == b.first) return {a.first, less(a.second, b.second) ? a.second : b.second};
      return b.first < a.first ? a : b;
    }
  };

  // A half is loaded as an integer, because the compiler does not vectorize structures.
  template <class T>
  static T load(const std::byte* from) {
    if constexpr (std::is_same_v<T, Half>) {
      return {load<uint16_t>(from)};
    } else {
      T value;
      __builtin_memcpy(&value, from, sizeof value);
      return value;
    }
  }
  template <class T>
  static void store(std::byte* to, T value) {
    if constexpr (std::is_same_v<T, Half>) {
      store(to, value.bits);
    } else {
      __builtin_memcpy(to, &value, sizeof value);
    }
  }

  // `to` may be `left` or `right`, so it is not __restrict. But an element that has been stored is never
  // loaded later, which the pragmas tell the two compilers.
  template <class T, class Op>
  static void combine(const void* left, const void* right, void* to, size_t count) {
    const auto* a = static_cast<const std::byte*>(left);
    const auto* b = static_cast<const std::byte*>(right);
    auto* result = static_cast<std::byte*>(to);
#pragma clang loop vectorize(assume_safety)
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) {
      const size_t at = i * sizeof(T);
      store(result + at, Op::apply(load<T>(a + at), load<T>(b + at)));
    }
  }

  // The values of Fortran are those of its compiler, not of C.
  template <class T, class Op>
  static void combine_fortran(const void* left, const void* right, void* to, size_t count) {
    const auto* a = static_cast<const std::byte*>(left);
    const auto* b = static_cast<const std::byte*>(right);
    auto* result = static_cast<std::byte*>(to);
    const T yes = load<T>(fortran_booleans.yes);
    const T no = load<T>(fortran_booleans.no);
#pragma clang loop vectorize(assume_safety)
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) {
      const size_t at = i * sizeof(T);
      store(result + at, Op::apply(load<T>(a + at) != no, load<T>(b + at) != no) ? yes : no);
    }
  }

  // Member by member: the compiler vectorizes this, but not a copy of the whole structure.
  template <class T, class Op>
  static void combine_complex(const void* left, const void* right, void* to, size_t count) {
    const auto* first = static_cast<const std::byte*>(left);
    const auto* second = static_cast<const std::byte*>(right);
    auto* result = static_cast<std::byte*>(to);
#pragma clang loop vectorize(assume_safety)
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) {
      const size_t at = 2 * i * sizeof(T);
      const Complex<T> a = {load<T>(first + at), load<T>(first + at + sizeof(T))};
      const Complex<T> b = {load<T>(second + at), load<T>(second + at + sizeof(T))};
      const Complex<T> both = Op::apply(a, b);
      store(result + at, both.real);
      store(result + at + sizeof(T), both.imaginary);
    }
  }

  template <class First, class Second, class Op>
  static void combine_pairs(const void* left, const void* right, void* to, size_t count) {
    using Both = Pair<First, Second>;
    constexpr size_t kSecond = offsetof(Both, second);
    for (size_t i = 0; i < count; ++i) {
      const std::byte* a = static_cast<const std::byte*>(left) + i * sizeof(Both);
      const std::byte* b = static_cast<const std::byte*>(right) + i * sizeof(Both);
      std::byte* result = static_cast<std::byte*>(to) + i * sizeof(Both);
      // The padding between and after the members belongs to the user and is not written.
      const Both both = Op::apply(Both{load<First>(a), load<Second>(a + kSecond)},
                                  Both{load<First>(b), load<Second>(b + kSecond)});
      store(result, both.first);
      store(result + kSecond, both.second);
    }
  }

  template <class T>
  static ReduceKernel* bit_kernel(OpKind op) {
    switch (op) {
      case OpKind::band:
        return combine<T, BitAnd>;
      case OpKind::bor:
        return combine<T, BitOr>;
      case OpKind::bxor:
        return combine<T, BitXor>;
      default:
        return nullptr;
    }
  }

  template <class T>
  static ReduceKernel* logical_kernel(OpKind op) {
    switch (op) {
      case OpKind::land:
        return combine<T, LogicalAnd>;
      case OpKind::lor:
        return combine<T, LogicalOr>;
      case OpKind::lxor:
        return combine<T, LogicalXor>;
      default:
        return nullptr;
    }
  }

  template <class T>
  static ReduceKernel* fortran_kernel(OpKind op) {
    switch (op) {
      case OpKind::land:
        return combine_fortran<T, LogicalAnd>;
      case OpKind::lor:
        return combine_fortran<T, LogicalOr>;
      case OpKind::lxor:
        return combine_fortran<T, LogicalXor>;
      default:
        return nullptr;
    }
  }

  template <class T>
  static ReduceKernel* complex_kernel(OpKind op) {
    switch (op) {
      case OpKind::sum:
        return combine_complex<T, Sum>;
      case OpKind::prod:
        return combine_complex<T, Product>;
      default:
        return nullptr;
    }
  }

  template <class T>
  static ReduceKernel* real_kernel(OpKind op) {
    switch (op) {
      case OpKind::sum:
        return combine<T, Sum>;
      case OpKind::prod:
        return combine<T, Product>;
      case OpKind::min:
        return combine<T, Minimum>;
      case OpKind::max:
        return combine<T, Maximum>;
      default:
        return nullptr;
    }
  }

  template <class T>
  static ReduceKernel* integer_kernel(OpKind op) {
    if (ReduceKernel* kernel = real_kernel<T>(op)) return kernel;
    if (ReduceKernel* kernel = bit_kernel<T>(op)) return kernel;
    return logical_kernel<T>(op);
  }

  template <class First, class Second>
  static ReduceKernel* pair_kernel(OpKind op) {
    switch (op) {
      case OpKind::minloc:
        return combine_pairs<First, Second, MinimumPlace>;
      case OpKind::maxloc:
        return combine_pairs<First, Second, MaximumPlace>;
      default:
        return nullptr;
    }
  }

  static ReduceKernel* find(OpKind op, Element element) {
    switch (element) {
      case Element::none:
      case Element::character:
      case Element::value_index:  // see reduce_pairs()
        return nullptr;
      case Element::bytes:
        return bit_kernel<uint8_t>(op);
      case Element::int8:
        return integer_kernel<int8_t>(op);
      case Element::uint8:
        return integer_kernel<uint8_t>(op);
      case Element::int16:
        return integer_kernel<int16_t>(op);
      case Element::uint16:
        return integer_kernel<uint16_t>(op);
      case Element::int32:
        return integer_kernel<int32_t>(op);
      case Element::uint32:
        return integer_kernel<uint32_t>(op);
      case Element::int64:
        return integer_kernel<int64_t>(op);
      case Element::uint64:
        return integer_kernel<uint64_t>(op);
      case Element::float16:
        return real_kernel<Half>(op);
      case Element::float32:
        return real_kernel<float>(op);
      case Element::float64:
        return real_kernel<double>(op);
      case Element::float_long:
        return real_kernel<long double>(op);
      case Element::complex_half:
        return complex_kernel<Half>(op);
      case Element::complex32:
        return complex_kernel<float>(op);
      case Element::complex64:
        return complex_kernel<double>(op);
      case Element::complex_long:
        return complex_kernel<long double>(op);
      case Element::boolean8:
        return logical_kernel<uint8_t>(op);
      case Element::logical8:
        return fortran_kernel<uint8_t>(op);
      case Element::logical16:
        return fortran_kernel<uint16_t>(op);
      case Element::logical32:
        return fortran_kernel<uint32_t>(op);
      case Element::logical64:
        return fortran_kernel<uint64_t>(op);
#ifdef __SIZEOF_INT128__
      case Element::int128:
        return integer_kernel<Int128>(op);
      case Element::logical128:
        return fortran_kernel<Int128>(op);
#else
      case Element::int128:
      case Element::logical128:
        return nullptr;
#endif
#ifdef __SIZEOF_FLOAT128__
      case Element::float128:
        return real_kernel<Float128>(op);
      case Element::complex128:
        return complex_kernel<Float128>(op);
#else
      case Element::float128:
      case Element::complex128:
        return nullptr;
#endif
      case Element::float_int:
        return pair_kernel<float, int>(op);
      case Element::double_int:
        return pair_kernel<double, int>(op);
      case Element::long_int:
        return pair_kernel<long, int>(op);
      case Element::int_int:
        return pair_kernel<int, int>(op);
      case Element::short_int:
        return pair_kernel<short, int>(op);
      case Element::long_double_int:
        return pair_kernel<long double, int>(op);
      case Element::real_real:
        return pair_kernel<float, float>(op);
      case Element::double_double:
        return pair_kernel<double, double>(op);
    }
    return nullptr;
  }
};

}  // namespace reduction
}  // namespace hearth::datatype
