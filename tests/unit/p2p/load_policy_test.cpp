// The copy loops that empty bounce buffers: their selection, and that each copies the right bytes.
#include "p2p/load_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace hearth::p2p {
namespace {

TEST(LoadPolicy, GoesOverToWhatIsQuickerSeveralTimesInARow) {
  LoadPolicy load_policy;
  EXPECT_FALSE(load_policy.reads_four_pages());
  load_policy.update(16384, 1100, 900);
  load_policy.update(16384, 1100, 900);
  EXPECT_FALSE(load_policy.reads_four_pages());
  load_policy.update(16384, 1100, 900);
  EXPECT_TRUE(load_policy.reads_four_pages());
  for (int i = 0; i < 3; ++i) load_policy.update(16384, 280, 300);
  EXPECT_FALSE(load_policy.reads_four_pages());
}

TEST(LoadPolicy, OneInterruptedPieceChangesNothing) {
  LoadPolicy load_policy;
  for (int i = 0; i < 20; ++i) {
    load_policy.update(16384, 8000, 900);
    load_policy.update(16384, 1100, 1200);
  }
  EXPECT_FALSE(load_policy.reads_four_pages());
}

TEST(LoadPolicy, NorDoesALittle) {
  LoadPolicy load_policy;
  for (int i = 0; i < 20; ++i) load_policy.update(16384, 1000, 950);
  EXPECT_FALSE(load_policy.reads_four_pages());
}

TEST(LoadPolicy, WhatIsQuickInOrderStaysSo) {
  LoadPolicy load_policy;
  for (int i = 0; i < 20; ++i) load_policy.update(16384, 320, 280);
  EXPECT_FALSE(load_policy.reads_four_pages());
}

TEST(LoadPolicy, ShortPiecesAndLongMessagesHaveNoChoice) {
  EXPECT_TRUE(LoadPolicy::has_choice(256 * 1024, 8192));
  EXPECT_FALSE(LoadPolicy::has_choice(256 * 1024, 8191));
  EXPECT_FALSE(LoadPolicy::has_choice(256 * 1024 + 1, 65536));
}

TEST(LoadPolicy, EachWayBringsAllBytes) {
  std::vector<std::byte> from(40000);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + i / 251);
  for (const auto choice :
       {LoadPolicy::Choice::by_time, LoadPolicy::Choice::in_order, LoadPolicy::Choice::four_pages}) {
    LoadPolicy load_policy(choice);
    for (const size_t bytes : {8192, 9000, 16384, 16385, 40000}) {
      for (int i = 0; i < 70; ++i) {  // includes trials of the other loop
        std::vector<std::byte> to(bytes + 2);
        load_policy.read(to.data() + 1, from.data(), bytes);
        ASSERT_TRUE(std::equal(to.begin() + 1, to.end() - 1, from.begin())) << bytes;
        ASSERT_EQ(to.front(), std::byte{0});
        ASSERT_EQ(to.back(), std::byte{0});
      }
    }
    if (choice != LoadPolicy::Choice::by_time) {
      EXPECT_EQ(load_policy.reads_four_pages(), choice == LoadPolicy::Choice::four_pages);
    }
  }
}

}  // namespace
}  // namespace hearth::p2p
