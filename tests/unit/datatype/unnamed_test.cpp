#include "datatype/unnamed.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "datatype/predefined.h"
#include "datatype/reduce.h"
#include "datatype/signature.h"
#include "mpi.h"
#include "objects/op.h"

namespace hearth::datatype {
namespace {

using objects::Op;
using objects::OpKind;

Type& predefined(MPI_Datatype handle) {
  return *predefined_type(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(handle)));
}

TEST(ParametricTypes, AreTheKindsOfTheCompiler) {
  const struct {
    int precision, range;
    int64_t bytes;
    Element element;
  } reals[] = {{6, 37, 4, Element::float32},
               {6, MPI_UNDEFINED, 4, Element::float32},
               {7, 37, 8, Element::float64},
               {1, 38, 8, Element::float64},
               {MPI_UNDEFINED, 307, 8, Element::float64},
               {18, 308, 16, Element::float_long},
               {19, 10, 16, Element::float128}};
  for (const auto& row : reals) {
    Type* real = nullptr;
    Type* complex = nullptr;
    ASSERT_TRUE(f90_real(row.precision, row.range, real).ok());
    EXPECT_EQ(real->size, row.bytes) << row.precision << ", " << row.range;
    EXPECT_EQ(real->element, row.element) << row.precision << ", " << row.range;
    ASSERT_TRUE(f90_complex(row.precision, row.range, complex).ok());
    EXPECT_EQ(complex->size, 2 * row.bytes) << row.precision << ", " << row.range;
    EXPECT_TRUE(real->committed && real->is_predefined());
    Type* again = nullptr;
    ASSERT_TRUE(f90_real(row.precision, row.range, again).ok());
    EXPECT_EQ(again, real) << "another handle for the same numbers";
  }
  const struct {
    int range;
    int64_t bytes;
  } integers[] = {{0, 1}, {2, 1}, {3, 2}, {5, 4}, {9, 4}, {10, 8}, {18, 8}, {19, 16}, {38, 16}};
  for (const auto& row : integers) {
    Type* integer = nullptr;
    ASSERT_TRUE(f90_integer(row.range, integer).ok());
    EXPECT_EQ(integer->size, row.bytes) << row.range;
    EXPECT_EQ(integer->integers, std::vector<int>{row.range});
  }
  Type* none = nullptr;
  EXPECT_EQ(f90_real(34, 10, none).error_class(), MPI_ERR_ARG);
  EXPECT_EQ(f90_real(6, 5000, none).error_class(), MPI_ERR_ARG);
  EXPECT_EQ(f90_complex(MPI_UNDEFINED, MPI_UNDEFINED, none).error_class(), MPI_ERR_ARG);
  EXPECT_EQ(f90_integer(39, none).error_class(), MPI_ERR_ARG);
  EXPECT_EQ(none, nullptr);
}

TEST(ValueIndexPairs, NamedOnesWhereThereAre) {
  const MPI_Datatype rows[][3] = {{MPI_FLOAT, MPI_INT, MPI_FLOAT_INT},
                                  {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT},
                                  {MPI_LONG, MPI_INT, MPI_LONG_INT},
                                  {MPI_INT, MPI_INT, MPI_2INT},
                                  {MPI_SHORT, MPI_INT, MPI_SHORT_INT},
                                  {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT},
                                  {MPI_REAL, MPI_REAL, MPI_2REAL},
                                  {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER},
                                  {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION}};
  for (const auto& row : rows) {
    Type* pair = nullptr;
    ASSERT_TRUE(value_index(predefined(row[0]), predefined(row[1]), pair).ok());
    EXPECT_EQ(pair, &predefined(row[2]));
  }
  Type* pair = nullptr;
  ASSERT_TRUE(value_index(predefined(MPI_INT), predefined(MPI_FLOAT), pair).ok());
  EXPECT_EQ(pair, nullptr) << "an index is an integer";
  ASSERT_TRUE(value_index(predefined(MPI_C_BOOL), predefined(MPI_INT), pair).ok());
  EXPECT_EQ(pair, nullptr) << "a truth value has no order";
}

template <class Value, class Index>
void expect_pair(MPI_Datatype value, MPI_Datatype index) {
  struct Both {
    Value value;
    Index index;
  };
  Type* pair = nullptr;
  ASSERT_TRUE(value_index(predefined(value), predefined(index), pair).ok());
  ASSERT_NE(pair, nullptr);
  EXPECT_EQ(pair->size, static_cast<int64_t>(sizeof(Value) + sizeof(Index)));
  EXPECT_EQ(pair->extent, static_cast<int64_t>(sizeof(Both)));
  EXPECT_EQ(basics_in(*pair), 2);
  Type* again = nullptr;
  ASSERT_TRUE(value_index(predefined(value), predefined(index), again).ok());
  EXPECT_EQ(pair, again);

  std::mt19937_64 random(5);
  constexpr size_t kCount = 500;
  for (const OpKind kind : {OpKind::minloc, OpKind::maxloc}) {
    std::vector<Both> in(kCount);
    std::vector<Both> inout(kCount);
    std::vector<Both> want(kCount);
    for (size_t i = 0; i < kCount; ++i) {
      // Few values, so that many are equal; indices of all sizes and signs.
      in[i].value = static_cast<Value>(random() % 3);
      inout[i].value = static_cast<Value>(random() % 3);
      in[i].index = static_cast<Index>(random());
      inout[i].index = static_cast<Index>(random());
      const Both& a = in[i];
      const Both& b = inout[i];
      const bool first = a.value == b.value       ? a.index < b.index
                         : kind == OpKind::minloc ? a.value < b.value
                                                  : a.value > b.value;
      want[i] = first ? a : b;
    }
    Op op;
    op.kind = kind;
    ASSERT_TRUE(check_reduction(op, *pair).ok());
    std::vector<Both> of_all(kCount);
    const void* sources[] = {in.data(), inout.data(), in.data()};
    ASSERT_TRUE(reduce_all(op, *pair, sources, of_all.data(), kCount).ok());
    ASSERT_TRUE(reduce(op, *pair, in.data(), inout.data(), kCount).ok());
    for (size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(inout[i].value, want[i].value) << pair->types[0]->name << ", " << pair->types[1]->name;
      ASSERT_EQ(inout[i].index, want[i].index) << pair->types[0]->name << ", " << pair->types[1]->name;
      ASSERT_EQ(of_all[i].value, want[i].value) << pair->types[0]->name << ", " << pair->types[1]->name;
      ASSERT_EQ(of_all[i].index, want[i].index) << pair->types[0]->name << ", " << pair->types[1]->name;
    }
  }
  Op sum;
  sum.kind = OpKind::sum;
  EXPECT_EQ(check_reduction(sum, *pair).error_class(), MPI_ERR_OP);
}

TEST(ValueIndexPairs, UnnamedOnesReduce) {
  expect_pair<double, int64_t>(MPI_DOUBLE, MPI_INT64_T);
  expect_pair<double, uint64_t>(MPI_DOUBLE, MPI_UINT64_T);
  expect_pair<float, int8_t>(MPI_FLOAT, MPI_INT8_T);
  expect_pair<float, uint16_t>(MPI_FLOAT, MPI_UINT16_T);
  expect_pair<long double, int64_t>(MPI_LONG_DOUBLE, MPI_LONG);
  expect_pair<int8_t, int32_t>(MPI_INT8_T, MPI_INT32_T);
  expect_pair<uint8_t, uint8_t>(MPI_UINT8_T, MPI_UINT8_T);
  expect_pair<int16_t, int16_t>(MPI_INT16_T, MPI_INT16_T);
  expect_pair<uint16_t, uint32_t>(MPI_UINT16_T, MPI_UINT32_T);
  expect_pair<uint32_t, int64_t>(MPI_UINT32_T, MPI_INT64_T);
  expect_pair<int64_t, int64_t>(MPI_INT64_T, MPI_INT64_T);
  expect_pair<uint64_t, int32_t>(MPI_UINT64_T, MPI_INT32_T);
}

}  // namespace
}  // namespace hearth::datatype
