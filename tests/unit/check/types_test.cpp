#include "check/types.h"

#include <gtest/gtest.h>

#include "check/buffers.h"

namespace hearth::check {
namespace {

TypePointer basic(MPI_Datatype type, int64_t bytes) {
  auto node = std::make_shared<TypeNode>();
  const auto word = reinterpret_cast<uintptr_t>(type);
  node->signature = Signature::of_basic(word, static_cast<uint16_t>(word));
  node->size = node->extent = node->true_extent = bytes;
  return node;
}

TypePointer of_parts(std::vector<TypeNode::Part> parts, int64_t extent) {
  auto node = std::make_shared<TypeNode>();
  int64_t last = 0;
  for (const TypeNode::Part& part : parts) {
    const auto copies = static_cast<uint64_t>(part.count * part.repeats);
    node->signature = node->signature.followed_by(part.type->signature.repeated(copies));
    node->size += part.type->size * part.count * part.repeats;
    last =
        std::max(last, part.displacement + (part.repeats - 1) * part.stride + part.count * part.type->extent);
  }
  node->extent = extent;
  node->true_extent = last;
  node->parts = std::move(parts);
  return node;
}

const TypePointer kInt = basic(MPI_INT, 4);
const TypePointer kFloat = basic(MPI_FLOAT, 4);

bool same(const Signature& a, const Signature& b) {
  return may_equal(a.words(), b.words());
}

TEST(Signature, does_not_depend_on_how_it_was_put_together) {
  const Signature seven = kInt->signature.repeated(7);
  EXPECT_TRUE(same(seven, kInt->signature.repeated(3).followed_by(kInt->signature.repeated(4))));
  EXPECT_EQ(seven.elements, 7u);
  EXPECT_EQ(seven.basic, reinterpret_cast<uintptr_t>(MPI_INT));
  const Signature pair = kInt->signature.followed_by(kFloat->signature);
  EXPECT_TRUE(same(pair.repeated(2),
                   kInt->signature.followed_by(
                       kFloat->signature.followed_by(kInt->signature).followed_by(kFloat->signature))));
  EXPECT_EQ(pair.basic, 0);
}

TEST(Signature, tells_types_order_and_number_apart) {
  const Signature pair = kInt->signature.followed_by(kFloat->signature);
  EXPECT_FALSE(same(pair, kFloat->signature.followed_by(kInt->signature)));
  EXPECT_FALSE(same(kInt->signature, kFloat->signature));
  EXPECT_FALSE(same(kInt->signature.repeated(2), kInt->signature.repeated(3)));
  EXPECT_TRUE(same(kInt->signature.repeated(0), kFloat->signature.repeated(0)));
}

TEST(Signature, is_open_where_packed_data_are_among_it) {
  Signature packed = Signature::of_basic(1, 1);
  packed.flags = shm::kSignaturePacked;
  EXPECT_TRUE(same(packed.repeated(16), kInt->signature.repeated(4)));
  EXPECT_TRUE(same(kInt->signature, kFloat->signature.followed_by(packed)));
}

TEST(Signature, is_put_in_words) {
  EXPECT_EQ(words_of(kInt->signature.repeated(4).words()), "4 x MPI_INT");
  EXPECT_EQ(words_of(kInt->signature.followed_by(kFloat->signature).words()), "2 elements of several types");
  EXPECT_EQ(words_of(Signature().words()), "no data");
}

TEST(Prefix, ends_inside_of_parts) {
  const TypePointer record = of_parts({{0, 1, 1, 0, kInt}, {8, 2, 3, 16, kFloat}}, 64);
  ASSERT_EQ(record->signature.elements, 7u);
  const Signature ints = kInt->signature;
  const Signature floats = kFloat->signature;
  EXPECT_TRUE(same(prefix_of(*record, 2, 1), ints));
  EXPECT_TRUE(same(prefix_of(*record, 2, 4), ints.followed_by(floats.repeated(3))));
  EXPECT_TRUE(same(prefix_of(*record, 2, 7), record->signature));
  EXPECT_TRUE(same(prefix_of(*record, 2, 9), record->signature.followed_by(ints).followed_by(floats)));
  EXPECT_TRUE(same(prefix_of(*record, 2, 14), record->signature.repeated(2)));
  EXPECT_EQ(prefix_of(*record, 2, 0).elements, 0u);
}

TEST(Segments, of_a_column_are_its_elements) {
  const TypePointer column = of_parts({{0, 1, 3, 16, kInt}}, 64);
  std::vector<Segment> segments;
  ASSERT_TRUE(add_segments(*column, 1000, 2, segments));
  EXPECT_EQ(segments,
            (std::vector<Segment>{
                {1000, 1004}, {1016, 1020}, {1032, 1036}, {1064, 1068}, {1080, 1084}, {1096, 1100}}));
}

TEST(Segments, that_touch_are_one) {
  const TypePointer rows = of_parts({{0, 2, 1, 0, kInt}, {8, 2, 1, 0, kInt}, {32, 1, 1, 0, kInt}}, 40);
  std::vector<Segment> segments;
  ASSERT_TRUE(add_segments(*rows, 0, 1, segments));
  EXPECT_EQ(segments, (std::vector<Segment>{{0, 16}, {32, 36}}));
}

TEST(Segments, are_given_up_where_there_are_too_many) {
  const TypePointer column = of_parts({{0, 1, 1 << 20, 16, kInt}}, 64);
  std::vector<Segment> segments;
  EXPECT_FALSE(add_segments(*column, 0, 1, segments));
}

TEST(Buffers, interleaved_columns_share_nothing) {
  const TypePointer column = of_parts({{0, 1, 4, 8, kInt}}, 32);
  Buffer even;
  Buffer odd;
  Buffer across;
  even.add(4096, 1, column);
  odd.add(4100, 1, column);
  across.add(4108, 2, kInt);
  EXPECT_EQ(even.shared_with(odd), 0u);
  EXPECT_EQ(even.shared_with(across), 4112u);
  EXPECT_EQ(across.shared_with(even), 4112u);
  EXPECT_EQ(odd.shared_with(across), 4108u);
}

TEST(Buffers, checksum_sees_the_elements_and_not_the_gaps) {
  int data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  Buffer column;
  column.add(reinterpret_cast<uintptr_t>(data), 1, of_parts({{0, 1, 4, 8, kInt}}, 32));
  const uint64_t before = column.checksum();
  data[1] = 9;
  EXPECT_EQ(column.checksum(), before);
  data[6] = 9;
  EXPECT_NE(column.checksum(), before);
}

}  // namespace
}  // namespace hearth::check
