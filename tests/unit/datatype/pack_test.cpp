// Packing from any byte to any byte, compared with the definition: element by element, block by block.
#include <gtest/gtest.h>

#include <climits>
#include <cstring>
#include <random>

#include "datatype/construct.h"
#include "datatype/lifetime.h"
#include "datatype/pool.h"
#include "datatype/predefined.h"
#include "datatype/type.h"
#include "mpi.h"

namespace hearth::datatype {
namespace {

Type& predefined(MPI_Datatype handle) {
  return *predefined_type(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(handle)));
}

/// Types made by the tests, freed after all tests.
struct MadeTypes : ::testing::Environment {
  void TearDown() override {
    for (Type* type : all) release(*type);
    EXPECT_EQ(pool.live(), 0u);
  }
  Type& keep(Type* type) {
    all.push_back(type);
    return *type;
  }
  std::vector<Type*> all;
};
auto& made_types = static_cast<MadeTypes&>(*::testing::AddGlobalTestEnvironment(new MadeTypes));

Type& contiguous(Count count, Type& old) {
  Type* made = nullptr;
  EXPECT_TRUE(make_contiguous(count, old, Form::small, made).ok());
  return made_types.keep(made);
}
Type& resized(Type& old, int64_t lower_bound, int64_t extent) {
  Type* made = nullptr;
  EXPECT_TRUE(make_resized(old, lower_bound, extent, Form::small, made).ok());
  return made_types.keep(made);
}

/// The offset of every packed byte of one element, computed from the constructor's arguments: the reference
/// for the layout.
std::vector<int64_t> places_of(const Type& type) {
  std::vector<int64_t> places;
  if (type.combiner == MPI_COMBINER_NAMED) {
    for (int64_t i = 0; i < type.size; ++i) places.push_back(i);
    if (&type == &predefined(MPI_SHORT_INT)) places = {0, 1, 4, 5, 6, 7};
    return places;
  }
  const Type& old = *type.types[0];
  const std::vector<int64_t> inner = places_of(old);
  const int64_t count = type.combiner == MPI_COMBINER_CONTIGUOUS ? type.integers[0] : 1;
  for (int64_t i = 0; i < count; ++i) {
    for (const int64_t place : inner) places.push_back(i * old.extent + place);
  }
  return places;
}

struct Case {
  const char* name;
  Type* type;
};

std::vector<Case> cases() {
  Type& real = predefined(MPI_DOUBLE);
  Type& integer = predefined(MPI_INT);
  Type& gapped = resized(real, 0, 24);
  Type& row = contiguous(5, gapped);
  Type& rows = resized(row, -8, 200);
  Type& backwards = resized(integer, 0, -12);
  Type& pair = predefined(MPI_SHORT_INT);
  return {
      {"double", &real},
      {"double, int", &predefined(MPI_DOUBLE_INT)},
      {"short, int", &pair},
      {"7 ints", &contiguous(7, integer)},
      {"double every 24 bytes", &gapped},
      {"5 doubles every 24 bytes", &row},
      {"rows of 5, 200 bytes apart", &rows},
      {"3 rows of 5", &contiguous(3, rows)},
      {"2 of 3 rows", &contiguous(2, contiguous(3, rows))},
      {"4 pairs of short and int", &contiguous(4, pair)},
      {"pairs in gapped blocks", &contiguous(2, resized(contiguous(3, pair), 0, 40))},
      {"int every 12 bytes, backwards", &backwards},
      {"4 ints, backwards", &contiguous(4, backwards)},
      {"no ints", &contiguous(0, integer)},
      {"3 bytes every 5", &resized(contiguous(3, predefined(MPI_BYTE)), 0, 5)},
      {"deep", &contiguous(2, resized(contiguous(3, resized(contiguous(2, gapped), 0, 70)), 0, 300))},
  };
}

/// Elements of a type that repeats a negative extent overlap. Receiving several of them is erroneous.
bool overlaps_itself(const Type& type) {
  return type.true_extent > std::abs(type.extent);
}

class Packing : public ::testing::Test {
 protected:
  static constexpr int64_t kRoom = 1 << 14;

  Packing() : memory_(2 * kRoom) {
    std::mt19937 random(7);
    for (auto& byte : memory_) byte = static_cast<std::byte>(random());
  }
  /// An address in the middle, so that elements may extend to both sides.
  std::byte* buffer() { return memory_.data() + kRoom; }
  std::vector<std::byte> expected(const Type& type, Count count) {
    std::vector<std::byte> packed;
    const std::vector<int64_t> places = places_of(type);
    for (Count i = 0; i < count; ++i) {
      for (const int64_t place : places) packed.push_back(buffer()[i * type.extent + place]);
    }
    return packed;
  }

  std::vector<std::byte> memory_;
};

TEST_F(Packing, WholeMessages) {
  for (const Case& each : cases()) {
    for (const Count count : {0, 1, 2, 9}) {
      const auto want = expected(*each.type, count);
      ASSERT_EQ(static_cast<int64_t>(want.size()), count * each.type->size) << each.name;
      std::vector<std::byte> packed(want.size() + 1, std::byte{0x5a});
      pack(*each.type, buffer(), 0, packed.data(), want.size());
      EXPECT_EQ(packed.back(), std::byte{0x5a}) << each.name;
      packed.pop_back();
      EXPECT_EQ(packed, want) << each.name << ", " << count << " elements";
    }
  }
}

TEST_F(Packing, AnyPiece) {
  const Count count = 3;
  for (const Case& each : cases()) {
    const auto want = expected(*each.type, count);
    const auto total = static_cast<int64_t>(want.size());
    const int64_t step = total > 200 ? 7 : 1;
    for (int64_t begin = 0; begin <= total; begin += step) {
      for (int64_t end = begin; end <= total; end += step) {
        const std::vector<std::byte> piece(want.begin() + begin, want.begin() + end);
        std::vector<std::byte> packed(piece.size());
        pack(*each.type, buffer(), begin, packed.data(), packed.size());
        ASSERT_EQ(packed, piece) << each.name << ", bytes " << begin << " to " << end;
      }
    }
  }
}

TEST_F(Packing, UnpackingTouchesDataOnly) {
  const Count count = 3;
  for (const Case& each : cases()) {
    if (overlaps_itself(*each.type)) continue;
    const auto total = static_cast<size_t>(count * each.type->size);
    std::vector<std::byte> message(total);
    for (size_t i = 0; i < total; ++i) message[i] = static_cast<std::byte>(i * 37 + 11);
    // Backwards in pieces of 13 bytes: the order must not matter.
    std::vector<std::byte> want = memory_;
    const std::vector<int64_t> places = places_of(*each.type);
    for (size_t i = 0; i < total; ++i) {
      const auto element = static_cast<int64_t>(i / places.size());
      want[static_cast<size_t>(kRoom + element * each.type->extent + places[i % places.size()])] = message[i];
    }
    for (size_t end = total; end > 0; end -= std::min<size_t>(13, end)) {
      const size_t begin = end - std::min<size_t>(13, end);
      unpack(*each.type, buffer(), static_cast<int64_t>(begin), message.data() + begin, end - begin);
    }
    ASSERT_EQ(memory_, want) << each.name;
  }
}

TEST_F(Packing, CopyBetweenTypes) {
  const auto all = cases();
  for (const Case& from : all) {
    const auto want = expected(*from.type, 6);
    if (want.empty()) continue;
    for (const Case& to : all) {
      if (to.type->size == 0 || (6 * from.type->size) % to.type->size != 0) continue;
      // Elements that overlap cannot be received.
      if (to.type->true_extent > std::abs(to.type->extent)) continue;
      const Count to_count = 6 * from.type->size / to.type->size;
      const Span span = span_of(*to.type, to_count);
      std::vector<std::byte> target(static_cast<size_t>(span.bytes));
      std::byte* place = target.data() - span.lowest;
      ASSERT_TRUE(copy(buffer(), 6, *from.type, place, to_count, *to.type).ok())
          << from.name << " to " << to.name;
      std::vector<std::byte> packed(want.size());
      pack(*to.type, place, 0, packed.data(), packed.size());
      EXPECT_EQ(packed, want) << from.name << " to " << to.name;
    }
  }
}

TEST_F(Packing, CopyTellsWhenThereIsNoRoom) {
  int from[4] = {1, 2, 3, 4};
  int to[4] = {};
  const Status status = copy(from, 4, predefined(MPI_INT), to, 3, predefined(MPI_INT));
  EXPECT_EQ(status.error_class(), MPI_ERR_TRUNCATE);
  EXPECT_EQ(to[2], 3);
  EXPECT_EQ(to[3], 0);
}

TEST(Bounds, FollowTheStandard) {
  Type& real = predefined(MPI_DOUBLE);
  Type& gapped = resized(real, -4, 24);
  EXPECT_EQ(gapped.lower_bound, -4);
  EXPECT_EQ(gapped.extent, 24);
  EXPECT_EQ(gapped.true_lower_bound, 0);
  EXPECT_EQ(gapped.true_extent, 8);
  EXPECT_FALSE(gapped.contiguous);
  Type& row = contiguous(5, gapped);
  EXPECT_EQ(row.size, 40);
  EXPECT_EQ(row.lower_bound, -4);
  EXPECT_EQ(row.extent, 5 * 24);
  EXPECT_EQ(row.true_extent, 4 * 24 + 8);
  EXPECT_TRUE(contiguous(5, real).contiguous);
  // Resized to its natural extent, a gapped type is contiguous again.
  EXPECT_TRUE(resized(gapped, 0, 8).contiguous);
  Type& backwards = contiguous(4, resized(real, 0, -16));
  EXPECT_EQ(backwards.true_lower_bound, -48);
  EXPECT_EQ(backwards.true_extent, 56);
}

TEST(Bounds, MayBeVeryLarge) {
  Type* made = nullptr;
  ASSERT_TRUE(make_contiguous(Count{1} << 40, predefined(MPI_DOUBLE), Form::large, made).ok());
  Type& huge = made_types.keep(made);
  EXPECT_EQ(huge.size, int64_t{1} << 43);
  EXPECT_EQ(huge.counts, std::vector<int64_t>{int64_t{1} << 40});
  EXPECT_TRUE(huge.integers.empty());
  Type* none = nullptr;
  EXPECT_EQ(make_contiguous(Count{1} << 62, predefined(MPI_DOUBLE), Form::large, none).error_class(),
            MPI_ERR_VALUE_TOO_LARGE);
  EXPECT_EQ(none, nullptr);
}

TEST(Lifetime, OldTypesStayWhileNewOnesNeedThem) {
  const size_t before = pool.live();
  Type* base = nullptr;
  ASSERT_TRUE(make_resized(predefined(MPI_INT), 0, 8, Form::small, base).ok());
  Type* made = nullptr;
  ASSERT_TRUE(make_contiguous(3, *base, Form::small, made).ok());
  EXPECT_EQ(pool.live(), before + 2);
  free_handle(*base);
  EXPECT_FALSE(pool.contains(base)) << "the handle is invalid";
  EXPECT_EQ(pool.live(), before + 2) << "the type is not gone";
  Type* twin = nullptr;
  ASSERT_TRUE(make_twin(*made, twin).ok());
  free_handle(*made);
  EXPECT_EQ(pool.live(), before + 2);
  EXPECT_EQ(twin->types[0], base);
  free_handle(*twin);
  EXPECT_EQ(pool.live(), before);
}

}  // namespace
}  // namespace hearth::datatype
