// Every predefined operation on every predefined datatype, compared with plain loops; all other pairs are
// refused.
#include "datatype/reduce.h"

#include <gtest/gtest.h>

#include <climits>
#include <complex>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "datatype/construct.h"
#include "datatype/half.h"
#include "datatype/lifetime.h"
#include "datatype/predefined.h"
#include "mpi-ext.h"
#include "mpi.h"
#include "objects/pools.h"

namespace hearth::datatype {
namespace {

using objects::Op;
using objects::OpKind;

constexpr OpKind kAllOps[] = {OpKind::sum,  OpKind::min,  OpKind::max,    OpKind::prod,
                              OpKind::band, OpKind::bor,  OpKind::bxor,   OpKind::land,
                              OpKind::lor,  OpKind::lxor, OpKind::minloc, OpKind::maxloc};

Type& predefined(MPI_Datatype handle) {
  return *predefined_type(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(handle)));
}

Op operation(OpKind kind) {
  Op op;
  op.kind = kind;
  return op;
}

/// 1003 elements, so that vector loops have a remainder. The values keep sums and products exact.
constexpr size_t kCount = 1003;

template <class T>
std::vector<T> values(int seed) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::vector<T> result(kCount);
  for (auto& value : result) value = static_cast<T>(random() % 11);
  return result;
}

constexpr size_t kOdd = 1;
constexpr size_t kMargin = 16;

/// Elements at an odd address, followed by bytes that must stay.
template <class T>
std::vector<std::byte> at_odd_address(const std::vector<T>& elements) {
  const size_t bytes = elements.size() * sizeof(T);
  std::vector<std::byte> memory(kOdd + bytes + kMargin, std::byte{0xa5});
  std::memcpy(memory.data() + kOdd, elements.data(), bytes);
  return memory;
}

/// Checks that the first `count` elements equal `want` and that the bytes behind them are as in `before`.
template <class T>
void expect_elements(const std::vector<std::byte>& got, const std::vector<T>& want, size_t count,
                     const std::vector<std::byte>& before, const std::string& what) {
  for (size_t i = 0; i < count; ++i) {
    T element;
    std::memcpy(&element, got.data() + kOdd + i * sizeof(T), sizeof(T));
    ASSERT_TRUE(element == want[i]) << what << ", element " << i << " of " << count;
  }
  const size_t end = kOdd + count * sizeof(T);
  ASSERT_EQ(std::memcmp(got.data() + end, before.data() + end, got.size() - end), 0) << what;
}

/// Runs every kernel that this processor supports, at counts around the vector lengths, with a separate
/// result and with each operand overwritten.
template <class T>
void expect_kernels(MPI_Datatype handle, OpKind kind, const std::vector<T>& in, const std::vector<T>& inout,
                    const std::vector<T>& want) {
  const Type& type = predefined(handle);
  const std::vector<std::byte> left = at_odd_address(in);
  const std::vector<std::byte> right = at_odd_address(inout);
  for (const VectorSet set : usable_vector_sets()) {
    ReduceKernel* kernel = reduce_kernel(set, kind, type.element);
    ASSERT_NE(kernel, nullptr);
    for (size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{3}, size_t{7}, size_t{15}, size_t{16},
                         size_t{31}, size_t{65}, size_t{127}, in.size()}) {
      count = std::min(count, in.size());
      const std::string what = type.name + ", operation " + std::to_string(static_cast<int>(kind)) +
                               ", vectors " + std::to_string(static_cast<int>(set));
      std::vector<std::byte> own(left.size(), std::byte{0x5a});
      std::vector<std::byte> over_left = left;
      std::vector<std::byte> over_right = right;
      const std::vector<std::byte> before = own;
      kernel(left.data() + kOdd, right.data() + kOdd, own.data() + kOdd, count);
      kernel(over_left.data() + kOdd, right.data() + kOdd, over_left.data() + kOdd, count);
      kernel(left.data() + kOdd, over_right.data() + kOdd, over_right.data() + kOdd, count);
      expect_elements(own, want, count, before, what);
      expect_elements(over_left, want, count, left, what + ", over the left");
      expect_elements(over_right, want, count, right, what + ", over the right");
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

/// One to five sources, with a separate result and with each source overwritten.
template <class T>
void expect_reduction_of_all(MPI_Datatype handle, OpKind kind, const std::vector<std::vector<T>>& operands,
                             const std::function<T(T, T)>& apply) {
  const Type& type = predefined(handle);
  for (size_t number = 1; number <= operands.size(); ++number) {
    std::vector<T> want = operands[number - 1];
    for (size_t left = number - 1; left-- > 0;) {
      for (size_t i = 0; i < want.size(); ++i) want[i] = apply(operands[left][i], want[i]);
    }
    for (size_t over = 0; over <= number; ++over) {
      std::vector<std::vector<std::byte>> memory;
      for (size_t source = 0; source < number; ++source) memory.push_back(at_odd_address(operands[source]));
      memory.push_back(std::vector<std::byte>(memory[0].size(), std::byte{0x5a}));
      const std::vector<std::byte> before = memory[over];
      std::vector<const void*> sources;
      for (size_t source = 0; source < number; ++source) sources.push_back(memory[source].data() + kOdd);
      ASSERT_TRUE(reduce_all(operation(kind), type, sources, memory[over].data() + kOdd,
                             static_cast<Count>(want.size()))
                      .ok());
      expect_elements(memory[over], want, want.size(), before,
                      type.name + ", operation " + std::to_string(static_cast<int>(kind)) + ", " +
                          std::to_string(number) + " sources, over " + std::to_string(over));
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

/// Runs the reduction at an odd address, compares it with plain loops, and checks the bytes beyond the end.
template <class T>
void expect_reduction(MPI_Datatype handle, OpKind kind, const std::vector<T>& in, const std::vector<T>& inout,
                      const std::function<T(T, T)>& apply) {
  const std::vector<std::byte> from = at_odd_address(in);
  const std::vector<std::byte> before = at_odd_address(inout);
  std::vector<std::byte> to = before;
  std::vector<T> want;
  for (size_t i = 0; i < in.size(); ++i) want.push_back(apply(in[i], inout[i]));
  const Type& type = predefined(handle);
  ASSERT_TRUE(
      reduce(operation(kind), type, from.data() + kOdd, to.data() + kOdd, static_cast<Count>(in.size()))
          .ok());
  expect_elements(to, want, want.size(), before,
                  type.name + ", operation " + std::to_string(static_cast<int>(kind)));
  expect_kernels(handle, kind, in, inout, want);
}

// Types by the operations that the standard allows on them (table in MPI 5.0 section 6.9.2). tried() records
// each pair, so that the last test can check that all remaining pairs are refused.
std::map<std::string, std::set<OpKind>>& tried() {
  static std::map<std::string, std::set<OpKind>> all;
  return all;
}

template <class T>
void check(MPI_Datatype handle, OpKind kind, const std::function<T(T, T)>& apply) {
  tried()[predefined(handle).name].insert(kind);
  expect_reduction<T>(handle, kind, values<T>(1), values<T>(2), apply);
  expect_reduction_of_all<T>(handle, kind,
                             {values<T>(1), values<T>(2), values<T>(3), values<T>(4), values<T>(5)}, apply);
}

template <class T>
void check_arithmetic(MPI_Datatype handle) {
  check<T>(handle, OpKind::sum, [](T a, T b) { return static_cast<T>(a + b); });
  check<T>(handle, OpKind::prod, [](T a, T b) { return static_cast<T>(a * b); });
}
template <class T>
void check_order(MPI_Datatype handle) {
  check<T>(handle, OpKind::min, [](T a, T b) { return a < b ? a : b; });
  check<T>(handle, OpKind::max, [](T a, T b) { return a > b ? a : b; });
}
template <class T>
void check_bits(MPI_Datatype handle) {
  check<T>(handle, OpKind::band, [](T a, T b) { return static_cast<T>(a & b); });
  check<T>(handle, OpKind::bor, [](T a, T b) { return static_cast<T>(a | b); });
  check<T>(handle, OpKind::bxor, [](T a, T b) { return static_cast<T>(a ^ b); });
}
template <class T>
void check_logic(MPI_Datatype handle) {
  check<T>(handle, OpKind::land, [](T a, T b) { return static_cast<T>(a != 0 && b != 0); });
  check<T>(handle, OpKind::lor, [](T a, T b) { return static_cast<T>(a != 0 || b != 0); });
  check<T>(handle, OpKind::lxor, [](T a, T b) { return static_cast<T>((a != 0) != (b != 0)); });
}
template <class T>
void check_integer(MPI_Datatype handle) {
  ASSERT_EQ(predefined(handle).size, static_cast<int64_t>(sizeof(T)));
  check_arithmetic<T>(handle);
  check_order<T>(handle);
  check_bits<T>(handle);
  check_logic<T>(handle);
}
template <class T>
void check_real(MPI_Datatype handle) {
  check_arithmetic<T>(handle);
  check_order<T>(handle);
}

TEST(Reduce, Integers) {
  check_integer<short>(MPI_SHORT);
  check_integer<int>(MPI_INT);
  check_integer<long>(MPI_LONG);
  check_integer<long long>(MPI_LONG_LONG);
  check_integer<unsigned short>(MPI_UNSIGNED_SHORT);
  check_integer<unsigned>(MPI_UNSIGNED);
  check_integer<unsigned long>(MPI_UNSIGNED_LONG);
  check_integer<unsigned long long>(MPI_UNSIGNED_LONG_LONG);
  check_integer<char>(MPI_CHAR);  // beyond the standard
  check_integer<signed char>(MPI_SIGNED_CHAR);
  check_integer<unsigned char>(MPI_UNSIGNED_CHAR);
  check_integer<int8_t>(MPI_INT8_T);
  check_integer<int16_t>(MPI_INT16_T);
  check_integer<int32_t>(MPI_INT32_T);
  check_integer<int64_t>(MPI_INT64_T);
  check_integer<uint8_t>(MPI_UINT8_T);
  check_integer<uint16_t>(MPI_UINT16_T);
  check_integer<uint32_t>(MPI_UINT32_T);
  check_integer<uint64_t>(MPI_UINT64_T);
  check_integer<int32_t>(MPI_INTEGER);
  check_integer<int8_t>(MPI_INTEGER1);
  check_integer<int16_t>(MPI_INTEGER2);
  check_integer<int32_t>(MPI_INTEGER4);
  check_integer<int64_t>(MPI_INTEGER8);
  check_integer<MPI_Aint>(MPI_AINT);
  check_integer<MPI_Count>(MPI_COUNT);
  check_integer<MPI_Offset>(MPI_OFFSET);
#ifdef __SIZEOF_INT128__
  check_integer<__int128>(MPI_INTEGER16);
#endif
}

TEST(Reduce, Reals) {
  check_real<float>(MPI_FLOAT);
  check_real<double>(MPI_DOUBLE);
  check_real<long double>(MPI_LONG_DOUBLE);
  check_real<float>(MPI_REAL);
  check_real<double>(MPI_DOUBLE_PRECISION);
  check_real<float>(MPI_REAL4);
  check_real<double>(MPI_REAL8);
#ifdef __SIZEOF_FLOAT128__
  check_real<__float128>(MPI_REAL16);
#endif
}

TEST(Reduce, ComplexNumbers) {
  check_arithmetic<std::complex<float>>(MPI_C_COMPLEX);
  check_arithmetic<std::complex<double>>(MPI_C_DOUBLE_COMPLEX);
  check_arithmetic<std::complex<long double>>(MPI_C_LONG_DOUBLE_COMPLEX);
  check_arithmetic<std::complex<float>>(MPI_CXX_FLOAT_COMPLEX);
  check_arithmetic<std::complex<double>>(MPI_CXX_DOUBLE_COMPLEX);
  check_arithmetic<std::complex<long double>>(MPI_CXX_LONG_DOUBLE_COMPLEX);
  check_arithmetic<std::complex<float>>(MPI_COMPLEX);
  check_arithmetic<std::complex<double>>(MPI_DOUBLE_COMPLEX);
  check_arithmetic<std::complex<float>>(MPI_COMPLEX8);
  check_arithmetic<std::complex<double>>(MPI_COMPLEX16);
}

TEST(Reduce, ImaginaryParts) {
  // The values above have no imaginary parts.
  using Number = std::complex<double>;
  const std::vector<Number> in = {{1, 2}, {-3, 4}, {0, -1}};
  const std::vector<Number> inout = {{5, -6}, {7, 8}, {2, 9}};
  expect_reduction<Number>(MPI_C_DOUBLE_COMPLEX, OpKind::sum, in, inout,
                           [](Number a, Number b) { return a + b; });
  expect_reduction<Number>(MPI_C_DOUBLE_COMPLEX, OpKind::prod, in, inout,
                           [](Number a, Number b) { return a * b; });
}

#ifdef __SIZEOF_FLOAT128__
struct Complex128 {
  __float128 real = 0;
  __float128 imaginary = 0;
  Complex128() = default;
  explicit Complex128(unsigned value) : real(value), imaginary(value + 1) {}
  bool operator==(const Complex128&) const = default;
};
TEST(Reduce, QuadrupleComplexNumbers) {
  const auto make = [](__float128 real, __float128 imaginary) {
    Complex128 number;
    number.real = real;
    number.imaginary = imaginary;
    return number;
  };
  check<Complex128>(MPI_COMPLEX32, OpKind::sum, [&](Complex128 a, Complex128 b) {
    return make(a.real + b.real, a.imaginary + b.imaginary);
  });
  check<Complex128>(MPI_COMPLEX32, OpKind::prod, [&](Complex128 a, Complex128 b) {
    return make(a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real);
  });
}
#endif

/// Compares as numbers.
struct HalfValue {
  Half half = {0};
  HalfValue() = default;
  template <class Number>
  explicit HalfValue(Number value) : half(to_half(static_cast<float>(value))) {}
  operator float() const { return to_float(half); }
};

TEST(Reduce, HalfPrecision) {
  // With halves and sixteenths, so that sums and products have to be rounded.
  std::vector<HalfValue> in, inout;
  for (size_t i = 0; i < kCount; ++i) {
    in.push_back(HalfValue(static_cast<float>(i) * 0.4375f - 100));
    inout.push_back(HalfValue(static_cast<float>(i * i % 997) * 0.0625f));
  }
  const auto run = [&](OpKind kind, const std::function<HalfValue(HalfValue, HalfValue)>& apply) {
    tried()["MPI_REAL2"].insert(kind);
    expect_reduction<HalfValue>(MPI_REAL2, kind, in, inout, apply);
    tried()["MPIX_C_FLOAT16"].insert(kind);
    expect_reduction<HalfValue>(MPIX_C_FLOAT16, kind, in, inout, apply);
  };
  run(OpKind::sum, [](float a, float b) { return HalfValue(a + b); });
  run(OpKind::prod, [](float a, float b) { return HalfValue(a * b); });
  run(OpKind::min, [](float a, float b) { return HalfValue(a < b ? a : b); });
  run(OpKind::max, [](float a, float b) { return HalfValue(a > b ? a : b); });
}

TEST(Reduce, HalfPrecisionOfSeveral) {
  std::vector<std::vector<HalfValue>> operands(5);
  for (size_t source = 0; source < operands.size(); ++source) {
    for (size_t i = 0; i < kCount; ++i) {
      operands[source].push_back(HalfValue(static_cast<float>(i * (source + 1) % 61) * 0.4375f - 7));
    }
  }
  // Each partial result is rounded, so the order matters.
  expect_reduction_of_all<HalfValue>(MPI_REAL2, OpKind::sum, operands,
                                     [](float a, float b) { return HalfValue(a + b); });
}

TEST(Reduce, HalfPrecisionComplex) {
  struct Number {
    Half real, imaginary;
    bool operator==(const Number& other) const {
      return real.bits == other.real.bits && imaginary.bits == other.imaginary.bits;
    }
  };
  const std::vector<Number> in = {{to_half(1), to_half(2)}, {to_half(0.5f), to_half(-3)}};
  const std::vector<Number> inout = {{to_half(4), to_half(-1)}, {to_half(8), to_half(0.25f)}};
  const std::vector<Number> sums = {{to_half(5), to_half(1)}, {to_half(8.5f), to_half(-2.75f)}};
  const std::vector<Number> products = {{to_half(6), to_half(7)}, {to_half(4.75f), to_half(-23.875f)}};
  size_t at = 0;
  tried()["MPI_COMPLEX4"] = {OpKind::sum, OpKind::prod};
  expect_reduction<Number>(MPI_COMPLEX4, OpKind::sum, in, inout, [&](Number, Number) { return sums[at++]; });
  at = 0;
  expect_reduction<Number>(MPI_COMPLEX4, OpKind::prod, in, inout,
                           [&](Number, Number) { return products[at++]; });
}

TEST(Reduce, Logicals) {
  check_logic<int32_t>(MPI_LOGICAL);
  check_logic<int8_t>(MPI_LOGICAL1);
  check_logic<int16_t>(MPI_LOGICAL2);
  check_logic<int32_t>(MPI_LOGICAL4);
  check_logic<int64_t>(MPI_LOGICAL8);
#ifdef __SIZEOF_INT128__
  check_logic<__int128>(MPI_LOGICAL16);
#endif
  // As bytes, because std::vector<bool> is not an array.
  check_logic<uint8_t>(MPI_C_BOOL);
  check_logic<uint8_t>(MPI_CXX_BOOL);
}

/// Every logical operation on the values of a Fortran compiler for true (`yes`) and false (`no`).
template <class T>
void check_literals(MPI_Datatype handle, int yes, int no) {
  const auto literal = [=](bool value) { return static_cast<T>(value ? yes : no); };
  const auto literals = [&](int seed) {
    std::vector<T> result = values<T>(seed);
    for (T& value : result) value = literal(value > T{5});
    return result;
  };
  const auto is_true = [&](T value) { return value == literal(true); };
  const auto run = [&](OpKind kind, const std::function<bool(bool, bool)>& apply) {
    expect_reduction<T>(handle, kind, literals(1), literals(2),
                        [&](T a, T b) { return literal(apply(is_true(a), is_true(b))); });
  };
  run(OpKind::land, std::logical_and<bool>());
  run(OpKind::lor, std::logical_or<bool>());
  run(OpKind::lxor, std::not_equal_to<bool>());
}

TEST(Reduce, LogicalsOfOtherCompilers) {
  const FortranBooleans usual = fortran_booleans;
  for (const auto& [yes, no] : {std::pair(-1, 0), std::pair(0, -1), std::pair(2, -3)}) {
    std::memset(&fortran_booleans, 0, sizeof fortran_booleans);
    if (yes < 0) std::memset(fortran_booleans.yes, 0xff, sizeof fortran_booleans.yes);
    if (no < 0) std::memset(fortran_booleans.no, 0xff, sizeof fortran_booleans.no);
    std::memcpy(fortran_booleans.yes, &yes, sizeof yes);
    std::memcpy(fortran_booleans.no, &no, sizeof no);
    check_literals<int32_t>(MPI_LOGICAL, yes, no);
    check_literals<int8_t>(MPI_LOGICAL1, yes, no);
    check_literals<int16_t>(MPI_LOGICAL2, yes, no);
    check_literals<int32_t>(MPI_LOGICAL4, yes, no);
    check_literals<int64_t>(MPI_LOGICAL8, yes, no);
#ifdef __SIZEOF_INT128__
    check_literals<__int128>(MPI_LOGICAL16, yes, no);
#endif
    check_logic<uint8_t>(MPI_C_BOOL);  // C's values, which Fortran's do not affect
  }
  fortran_booleans = usual;
}

TEST(Reduce, Bytes) {
  check_bits<unsigned char>(MPI_BYTE);
}

template <class First, class Second>
void check_pairs(MPI_Datatype handle) {
  struct Pair {
    First first;
    Second second;
    bool operator==(const Pair& other) const { return first == other.first && second == other.second; }
  };
  Type& type = predefined(handle);
  ASSERT_EQ(type.extent, static_cast<int64_t>(sizeof(Pair)));
  std::mt19937 random(3);
  const auto make = [&] {
    std::vector<Pair> pairs(kCount);
    for (Pair& pair : pairs) {
      std::memset(static_cast<void*>(&pair), 0, sizeof pair);
      pair.first = static_cast<First>(random() % 4);
      pair.second = static_cast<Second>(random() % 100);
    }
    return pairs;
  };
  const auto in = make();
  const auto inout = make();
  const std::vector<std::vector<Pair>> five = {in, inout, make(), make(), make()};
  const auto lower_index = [](Pair a, Pair b) { return a.second < b.second ? a : b; };
  tried()[type.name] = {OpKind::minloc, OpKind::maxloc};
  const auto lowest = [&](Pair a, Pair b) {
    if (a.first == b.first) return lower_index(a, b);
    return a.first < b.first ? a : b;
  };
  const auto highest = [&](Pair a, Pair b) {
    if (a.first == b.first) return lower_index(a, b);
    return a.first > b.first ? a : b;
  };
  expect_reduction<Pair>(handle, OpKind::minloc, in, inout, lowest);
  expect_reduction<Pair>(handle, OpKind::maxloc, in, inout, highest);
  expect_reduction_of_all<Pair>(handle, OpKind::minloc, five, lowest);
  expect_reduction_of_all<Pair>(handle, OpKind::maxloc, five, highest);
}

TEST(Reduce, Pairs) {
  check_pairs<float, int>(MPI_FLOAT_INT);
  check_pairs<double, int>(MPI_DOUBLE_INT);
  check_pairs<long, int>(MPI_LONG_INT);
  check_pairs<int, int>(MPI_2INT);
  check_pairs<short, int>(MPI_SHORT_INT);
  check_pairs<long double, int>(MPI_LONG_DOUBLE_INT);
  check_pairs<float, float>(MPI_2REAL);
  check_pairs<double, double>(MPI_2DOUBLE_PRECISION);
  check_pairs<int, int>(MPI_2INTEGER);
}

TEST(Reduce, PaddingStaysAsItIs) {
  struct Pair {
    short first;
    int second;
  };
  Pair in = {}, inout = {};
  std::memset(static_cast<void*>(&inout), 0x77, sizeof inout);
  in.first = 1;
  in.second = 2;
  ASSERT_TRUE(reduce(operation(OpKind::minloc), predefined(MPI_SHORT_INT), &in, &inout, 1).ok());
  EXPECT_EQ(inout.first, 1);
  EXPECT_EQ(inout.second, 2);
  EXPECT_EQ(reinterpret_cast<unsigned char*>(&inout)[2], 0x77);
  EXPECT_EQ(reinterpret_cast<unsigned char*>(&inout)[3], 0x77);
}

TEST(Reduce, IntegersWrapAround) {
  const int in[] = {INT_MAX, INT_MIN, 65536};
  int inout[] = {1, -1, 65536};
  ASSERT_TRUE(reduce(operation(OpKind::sum), predefined(MPI_INT), in, inout, 2).ok());
  ASSERT_TRUE(reduce(operation(OpKind::prod), predefined(MPI_INT), in + 2, inout + 2, 1).ok());
  EXPECT_EQ(inout[0], INT_MIN);
  EXPECT_EQ(inout[1], INT_MAX);
  EXPECT_EQ(inout[2], 0);
}

// Must run last (GoogleTest keeps the order of the file): pairs that no test above tried are refused with an
// error text.
TEST(Reduce, RefusesTheRest) {
  enter_predefined_types();
  int refused = 0;
  for (objects::Object* object : objects::pools.predefined) {
    if (object == nullptr || object->predefined < 0x200) continue;
    Type& type = static_cast<Type&>(*object);
    if (!type.supported) continue;
    for (const OpKind kind : kAllOps) {
      const bool allowed = tried()[type.name].contains(kind);
      const Status status = check_reduction(operation(kind), type);
      EXPECT_EQ(status.ok(), allowed) << type.name << ", operation " << static_cast<int>(kind);
      if (status.ok()) continue;
      ++refused;
      EXPECT_EQ(status.error_class(), MPI_ERR_OP);
      EXPECT_NE(std::string(last_failure_text()).find(type.name), std::string::npos) << last_failure_text();
      EXPECT_EQ(reduce(operation(kind), type, nullptr, nullptr, 0).error_class(), MPI_ERR_OP);
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_EQ(check_reduction(operation(OpKind::replace), predefined(MPI_INT)).error_class(), MPI_ERR_OP);
  EXPECT_EQ(check_reduction(operation(OpKind::no_op), predefined(MPI_INT)).error_class(), MPI_ERR_OP);
}

// User-defined operations.

struct Seen {
  int64_t count = 0;
  MPI_Datatype handle = nullptr;
};
std::vector<Seen>* calls = nullptr;

void subtract(void* in, void* inout, int* count, MPI_Datatype* handle) {
  calls->push_back({*count, *handle});
  for (int i = 0; i < *count && *count < 100; ++i) {
    static_cast<int*>(inout)[i] = static_cast<int*>(in)[i] - static_cast<int*>(inout)[i];
  }
  *count = -1;
  *handle = nullptr;
}
void subtract_large(void* in, void* inout, MPI_Count* count, MPI_Datatype* handle) {
  calls->push_back({*count, *handle});
  for (MPI_Count i = 0; i < *count && *count < 100; ++i) {
    static_cast<int*>(inout)[i] = static_cast<int*>(in)[i] - static_cast<int*>(inout)[i];
  }
}

TEST(UserOperation, TakesSeveralFromTheRight) {
  std::vector<Seen> seen;
  calls = &seen;
  Op op = operation(OpKind::user);
  op.function = subtract;
  const int first[] = {1, 2, 3}, second[] = {10, 20, 30};
  int last[] = {100, 200, 300};
  const void* sources[] = {first, second, last};
  int result[3] = {};
  ASSERT_TRUE(reduce_all(op, predefined(MPI_INT), sources, result, 3).ok());
  ASSERT_TRUE(reduce_all(op, predefined(MPI_INT), sources, last, 3).ok());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(result[i], (i + 1) * (1 - (10 - 100)));
    EXPECT_EQ(last[i], result[i]);
  }
  EXPECT_EQ(seen.size(), 4u);
}

TEST(UserOperation, GetsOperandsInOrder) {
  std::vector<Seen> seen;
  calls = &seen;
  Op op;
  op.function = subtract;
  const int in[] = {10, 20};
  int inout[] = {1, 2};
  ASSERT_TRUE(reduce(op, predefined(MPI_INT), in, inout, 2).ok());
  EXPECT_EQ(inout[0], 9);
  EXPECT_EQ(inout[1], 18);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].count, 2);
  EXPECT_EQ(seen[0].handle, MPI_INT);
  ASSERT_TRUE(reduce(op, predefined(MPI_INT), in, inout, 0).ok());
  EXPECT_EQ(seen.size(), 1u) << "nothing to do, no call";
}

TEST(UserOperation, GetsTheHandleOfTheUsersType) {
  std::vector<Seen> seen;
  calls = &seen;
  Type* made = nullptr;
  ASSERT_TRUE(make_contiguous(3, predefined(MPI_INT), Form::small, made).ok());
  Op op;
  op.function_c = subtract_large;
  int in[3] = {}, inout[3] = {};
  ASSERT_TRUE(reduce(op, *made, in, inout, 1).ok());
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].handle, reinterpret_cast<MPI_Datatype>(made));
  EXPECT_EQ(check_reduction(operation(OpKind::sum), *made).error_class(), MPI_ERR_OP);
  release(*made);
}

TEST(UserOperation, LongVectorsComeInSlices) {
  std::vector<Seen> seen;
  calls = &seen;
  Op op;
  op.function = subtract;
  const Count count = Count{INT_MAX} * 2 + 500;
  // The callback reads no data for such counts, so nothing is read from these addresses.
  ASSERT_TRUE(reduce(op, predefined(MPI_INT), nullptr, nullptr, count).ok());
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].count, INT_MAX);
  EXPECT_EQ(seen[1].count, INT_MAX);
  EXPECT_EQ(seen[2].count, 500);
  EXPECT_EQ(seen[2].handle, MPI_INT);
}

TEST(UserOperation, LargeFormGetsAllAtOnce) {
  std::vector<Seen> seen;
  calls = &seen;
  Op op;
  op.function_c = subtract_large;
  const Count count = Count{INT_MAX} * 2 + 500;
  ASSERT_TRUE(reduce(op, predefined(MPI_INT), nullptr, nullptr, count).ok());
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].count, count);
}

}  // namespace
}  // namespace hearth::datatype
