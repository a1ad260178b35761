#include "p2p/fragments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace hearth::p2p {
namespace {

constexpr int64_t kLongest = 64 << 10;

PairProtocol limits() {
  PairProtocol limits;
  limits.first_fragment_bytes = 8 << 10;
  limits.fragment_bytes_max = kLongest;
  limits.fragments_in_flight_max = 4;
  return limits;
}

// The fragments of a message whose receiver reads each one before the next is sent.
std::vector<int64_t> fragments_of(int64_t bytes, bool recycles, bool streams = false) {
  Fragments fragments;
  fragments.begin(bytes, recycles, streams, limits());
  std::vector<int64_t> lengths;
  while (fragments.left_bytes() > 0) {
    lengths.push_back(fragments.next_fragment(limits()));
    if (lengths.back() <= 0) break;
    fragments.sent(lengths.back(), limits());
  }
  return lengths;
}

TEST(fragments, together_they_are_the_message) {
  for (const bool recycles : {false, true}) {
    for (int64_t bytes = 1; bytes < 4 << 20; bytes = bytes * 3 + 1) {
      int64_t sum = 0;
      for (const int64_t length : fragments_of(bytes, recycles)) {
        EXPECT_GT(length, 0);
        EXPECT_LE(length, kLongest);
        sum += length;
      }
      EXPECT_EQ(sum, bytes);
    }
  }
}

TEST(fragments, a_short_message_is_sent_in_two) {
  EXPECT_EQ(fragments_of(6000, false), (std::vector<int64_t>{3000, 3000}));
  EXPECT_EQ(fragments_of(6000, false, true), (std::vector<int64_t>{4096, 1904}));
}

TEST(fragments, they_grow_to_the_longest_and_shrink_at_the_end) {
  const std::vector<int64_t> lengths = fragments_of(4 << 20, false);
  EXPECT_EQ(lengths.front(), 8 << 10);
  for (size_t i = 1; i < lengths.size() && lengths[i - 1] < kLongest; ++i) {
    EXPECT_EQ(lengths[i], 2 * lengths[i - 1]);
  }
  EXPECT_LE(lengths.back(), 16 << 10);
}

TEST(fragments, two_in_recycled_buffers_are_of_one_length) {
  const std::vector<int64_t> lengths = fragments_of(256 << 10, true);
  EXPECT_EQ(lengths[0], lengths[1]);
  EXPECT_EQ(lengths[2], lengths[3]);
  EXPECT_GT(lengths[2], lengths[1]);
}

// A message that fits the fragments in flight never waits for its receiver.
TEST(fragments, the_minimum_keeps_a_message_within_the_fragments_in_flight) {
  for (const bool recycles : {false, true}) {
    Fragments fragments;
    const int most = fragments.in_flight_max(limits());
    fragments.begin(most * kLongest, recycles, false, limits());
    int in_flight = 0;
    for (; fragments.left_bytes() > 0; ++in_flight) {
      ASSERT_LT(in_flight, fragments.in_flight_max(limits()));
      const int64_t length =
          std::max(fragments.next_fragment(limits()), fragments.least_fragment(in_flight, limits()));
      ASSERT_LE(length, kLongest);
      fragments.sent(length, limits());
    }
  }
  Fragments longer;
  longer.begin(100 * kLongest, false, false, limits());
  EXPECT_EQ(longer.least_fragment(0, limits()), 0);
}

}  // namespace
}  // namespace hearth::p2p
