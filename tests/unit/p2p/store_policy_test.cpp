// The stores that fill bounce buffers: their selection, and that each writes the right bytes.
#include "p2p/store_policy.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "datatype/construct.h"
#include "datatype/lifetime.h"
#include "datatype/predefined.h"
#include "mpi.h"

namespace hearth::p2p {
namespace {

datatype::Type& byte_type() {
  return *datatype::predefined_type(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(MPI_BYTE)));
}

// A line of a cache that the two share, and of one that they do not.
constexpr uint64_t kNearNs = 40;
constexpr uint64_t kFarNs = 90;

TEST(StorePolicy, SlowStoresSeveralTimesInARowMakeItStream) {
  StorePolicy store_policy;
  EXPECT_FALSE(store_policy.streams());
  store_policy.update(kFarNs);
  store_policy.update(kFarNs);
  EXPECT_FALSE(store_policy.streams());
  store_policy.update(kFarNs);
  EXPECT_TRUE(store_policy.streams());
}

TEST(StorePolicy, OneInterruptedPieceDoesNot) {
  StorePolicy store_policy;
  for (int i = 0; i < 20; ++i) {
    store_policy.update(kFarNs);
    store_policy.update(kNearNs);
  }
  EXPECT_FALSE(store_policy.streams());
}

TEST(StorePolicy, FastTrialsInARowMakeItPlainAgain) {
  StorePolicy store_policy;
  for (int i = 0; i < 5; ++i) store_policy.update(kFarNs);
  for (int i = 0; i < 3; ++i) store_policy.update(kNearNs);
  EXPECT_TRUE(store_policy.streams()) << "lines that the receiver has lost by chance are fast too";
  store_policy.update(kFarNs);
  for (int i = 0; i < 3; ++i) store_policy.update(kNearNs);
  EXPECT_TRUE(store_policy.streams());
  store_policy.update(kNearNs);
  EXPECT_FALSE(store_policy.streams());
}

TEST(StorePolicy, IsNearOnlyOnceItKnows) {
  StorePolicy store_policy;
  EXPECT_FALSE(store_policy.near());
  for (int i = 0; i < 4; ++i) store_policy.update(kNearNs);
  EXPECT_TRUE(store_policy.near());
  store_policy.update(kFarNs);
  EXPECT_FALSE(store_policy.near());
  EXPECT_TRUE(StorePolicy(StorePolicy::Choice::plain).near());
  EXPECT_FALSE(StorePolicy(StorePolicy::Choice::streaming).near());
}

// Plain stores, streaming stores, and the choice by time.
class Filling : public ::testing::TestWithParam<StorePolicy::Choice> {};

TEST_P(Filling, BringsTheBytesOfContiguousMessages) {
  std::vector<std::byte> message(70'000);
  for (size_t i = 0; i < message.size(); ++i) message[i] = static_cast<std::byte>(i * 7 + i / 256);
  StorePolicy store_policy(GetParam());
  for (size_t bytes : {0u, 1u, 63u, 64u, 1025u, 4096u, 65'536u}) {
    for (const int64_t offset : {0, 1, 16, 4097}) {
      for (const size_t shift : {0u, 16u}) {
        std::vector<std::byte> place(bytes + 64 + 64, std::byte{0xa5});
        std::byte* room = place.data() + shift;
        store_policy.fill(byte_type(), message.data(), offset, room, bytes);
        EXPECT_TRUE(std::equal(room, room + bytes, message.data() + offset)) << bytes << " from " << offset;
        EXPECT_EQ(room[bytes], std::byte{0xa5}) << "behind the end";
      }
    }
  }
}

TEST_P(Filling, BringsTheBytesOfStridedMessages) {
  datatype::Type* vector = nullptr;
  ASSERT_TRUE(datatype::make_vector(1, 3, 5, byte_type(), Form::small, vector).ok());
  datatype::Type* spaced = nullptr;
  ASSERT_TRUE(datatype::make_resized(*vector, 0, 5, Form::small, spaced).ok());
  constexpr Count kCount = 30'000;
  std::vector<std::byte> message(5 * kCount);
  for (size_t i = 0; i < message.size(); ++i) message[i] = static_cast<std::byte>(i * 13 + i / 251);
  std::vector<std::byte> packed;
  for (Count i = 0; i < kCount; ++i) {
    packed.insert(packed.end(), message.begin() + 5 * i, message.begin() + 5 * i + 3);
  }
  StorePolicy store_policy(GetParam());
  for (int round = 0; round < 150; ++round) {
    const int64_t offset = round * 31;
    const size_t bytes = 2048 + static_cast<size_t>(round) * 400;
    std::vector<std::byte> room(bytes);
    store_policy.fill(*spaced, message.data(), offset, room.data(), bytes);
    ASSERT_TRUE(std::equal(room.begin(), room.end(), packed.begin() + offset)) << "round " << round;
    // Made-up times make the policy change between rounds.
    store_policy.update(round / 20 % 2 == 0 ? kFarNs : kNearNs);
  }
  datatype::release(*spaced);
  datatype::release(*vector);
}

INSTANTIATE_TEST_SUITE_P(Choices, Filling,
                         ::testing::Values(StorePolicy::Choice::by_time, StorePolicy::Choice::plain,
                                           StorePolicy::Choice::streaming));

}  // namespace
}  // namespace hearth::p2p
