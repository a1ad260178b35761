// Datatypes in one-sided operations: blocks of bytes, and elements that stay whole.
#include "datatype/blocks.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "datatype/construct.h"
#include "datatype/lifetime.h"
#include "datatype/predefined.h"
#include "mpi.h"

namespace hearth::datatype {
namespace {

Type& predefined(MPI_Datatype handle) {
  return *predefined_type(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(handle)));
}

/// Types made by a test, freed at its end.
class Blocks : public testing::Test {
 protected:
  ~Blocks() override {
    for (Type* type : made_) release(*type);
  }
  Type& vector(Count count, Count length, int64_t stride, Type& old) {
    Type* type = nullptr;
    EXPECT_TRUE(make_vector(count, length, stride, old, Form::large, type).ok());
    made_.push_back(type);
    return *type;
  }
  Type& resized(Type& old, int64_t lower_bound, int64_t extent) {
    Type* type = nullptr;
    EXPECT_TRUE(make_resized(old, lower_bound, extent, Form::large, type).ok());
    made_.push_back(type);
    return *type;
  }

 private:
  std::vector<Type*> made_;
};

std::vector<std::byte> pattern(size_t bytes) {
  std::vector<std::byte> memory(bytes);
  for (size_t i = 0; i < bytes; ++i) memory[i] = static_cast<std::byte>(i * 37 + i / 251);
  return memory;
}

void expect_same_as_packing(const Type& type, Count count) {
  const std::vector<std::byte> memory = pattern(4096);
  const std::byte* const buffer = memory.data() + 1024;
  std::vector<std::byte> packed(static_cast<size_t>(count * type.size));
  pack(type, buffer, 0, packed.data(), packed.size());
  std::vector<std::byte> gathered;
  for (const Block& block : blocks_of(type, count))
    gathered.insert(gathered.end(), buffer + block.offset, buffer + block.offset + block.bytes);
  EXPECT_EQ(gathered, packed);
}

TEST_F(Blocks, AreWherePackingFindsTheData) {
  Type& gaps = vector(3, 2, 5, predefined(MPI_INT));
  Type& far_apart = resized(gaps, -8, 100);
  for (const Count count : {0, 1, 2, 5}) {
    expect_same_as_packing(predefined(MPI_DOUBLE), count);
    expect_same_as_packing(predefined(MPI_SHORT_INT), count);
    expect_same_as_packing(predefined(MPI_LONG_DOUBLE_INT), count);
    expect_same_as_packing(gaps, count);
    expect_same_as_packing(far_apart, count);
    expect_same_as_packing(vector(2, 1, 3, far_apart), count);
  }
}

TEST_F(Blocks, ThatTouchAreOne) {
  const std::vector<Block> blocks = blocks_of(vector(4, 2, 2, predefined(MPI_INT)), 3);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].offset, 0);
  EXPECT_EQ(blocks[0].bytes, 3 * 8 * 4);
}

TEST_F(Blocks, KeepElementsWithAGapWhole) {
  const Type& pair = predefined(MPI_SHORT_INT);
  ASSERT_TRUE(has_gap(pair));
  const std::vector<Block> blocks = blocks_of(vector(2, 2, 3, predefined(MPI_SHORT_INT)), 1, pair);
  ASSERT_EQ(blocks.size(), 4u);
  constexpr std::array<int64_t, 4> kOffsets = {0, 8, 24, 32};
  for (size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(blocks[i].offset, kOffsets[i]);
    EXPECT_EQ(blocks[i].bytes, pair.size);
  }
  // Padding after the last member is not a gap.
  EXPECT_FALSE(has_gap(predefined(MPI_DOUBLE_INT)));
  EXPECT_FALSE(has_gap(predefined(MPI_INT)));
}

TEST_F(Blocks, HaveOneElementOrNone) {
  const Type& number = predefined(MPI_INT);
  EXPECT_EQ(element_of(number), &number);
  EXPECT_EQ(element_of(vector(2, 2, 3, predefined(MPI_INT))), &number);
  EXPECT_EQ(element_of(predefined(MPI_DOUBLE_INT)), &predefined(MPI_DOUBLE_INT));
  Type* types[] = {&predefined(MPI_INT), &predefined(MPI_DOUBLE)};
  const int lengths[] = {1, 1}, only_first[] = {1, 0};
  const MPI_Aint places[] = {0, 8};
  for (const int* counts : {lengths, only_first}) {
    Type* mixed = nullptr;
    ASSERT_TRUE(make_struct(CountArray(counts), CountArray(places), types, Form::small, mixed).ok());
    EXPECT_EQ(element_of(*mixed), counts == lengths ? nullptr : &number);
    release(*mixed);
  }
}

}  // namespace
}  // namespace hearth::datatype
