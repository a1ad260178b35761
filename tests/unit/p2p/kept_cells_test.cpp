// Recycled buffers: how many of a peer's bounce buffers are kept, and the order of their use.
#include "p2p/kept_cells.h"

#include <gtest/gtest.h>

namespace hearth::p2p {
namespace {

TEST(KeptCells, nothing_for_a_peer_that_only_sends) {
  KeptCells kept;
  EXPECT_FALSE(kept.keep({3, 1}));
  EXPECT_TRUE(kept.empty());
}

TEST(KeptCells, as_much_as_was_sent) {
  KeptCells kept;
  kept.sent(100, 1000);
  EXPECT_TRUE(kept.keep({3, 60}));
  EXPECT_FALSE(kept.keep({5, 60}));
  EXPECT_TRUE(kept.keep({7, 40}));
  EXPECT_FALSE(kept.keep({9, 1}));
}

TEST(KeptCells, never_more_than_the_share) {
  KeptCells kept;
  for (int i = 0; i < 10; ++i) kept.sent(100, 150);
  EXPECT_TRUE(kept.keep({0, 100}));
  kept.sent(100, 150);
  EXPECT_FALSE(kept.keep({1, 100})) << "with what is kept already";
  EXPECT_TRUE(kept.keep({2, 50}));
  EXPECT_EQ(kept.take().cell, 0u);
  kept.sent(100, 150);
  EXPECT_TRUE(kept.keep({3, 100})) << "room again";
}

TEST(KeptCells, the_oldest_first) {
  KeptCells kept;
  kept.sent(100, 100);
  for (uint32_t cell = 0; cell < 4; ++cell) ASSERT_TRUE(kept.keep({cell, 10 + cell}));
  for (uint32_t cell = 0; cell < 4; ++cell) {
    const CellPart run = kept.take();
    EXPECT_EQ(run.cell, cell);
    EXPECT_EQ(run.bytes, 10 + cell);
  }
  EXPECT_TRUE(kept.empty());
}

TEST(KeptCells, knows_who_only_sends) {
  KeptCells kept;
  kept.sent(60, 100);
  EXPECT_FALSE(kept.one_way());
  kept.sent(60, 100);
  EXPECT_TRUE(kept.one_way());
  ASSERT_TRUE(kept.keep({0, 10}));
  EXPECT_FALSE(kept.one_way());
}

}  // namespace
}  // namespace hearth::p2p
