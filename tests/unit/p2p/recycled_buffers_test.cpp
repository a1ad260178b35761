// Recycled buffers: how many of a peer's bounce buffers are kept, and the order of their use.
#include "p2p/recycled_buffers.h"

#include <gtest/gtest.h>

namespace hearth::p2p {
namespace {

TEST(RecycledBuffers, nothing_for_a_peer_that_only_sends) {
  RecycledBuffers recycled;
  EXPECT_FALSE(recycled.keep({3, 1}));
  EXPECT_TRUE(recycled.empty());
}

TEST(RecycledBuffers, as_much_as_was_sent) {
  RecycledBuffers recycled;
  recycled.sent(100, 1000);
  EXPECT_TRUE(recycled.keep({3, 60}));
  EXPECT_FALSE(recycled.keep({5, 60}));
  EXPECT_TRUE(recycled.keep({7, 40}));
  EXPECT_FALSE(recycled.keep({9, 1}));
}

TEST(RecycledBuffers, never_more_than_the_share) {
  RecycledBuffers recycled;
  for (int i = 0; i < 10; ++i) recycled.sent(100, 150);
  EXPECT_TRUE(recycled.keep({0, 100}));
  recycled.sent(100, 150);
  EXPECT_FALSE(recycled.keep({1, 100})) << "with what is kept already";
  EXPECT_TRUE(recycled.keep({2, 50}));
  EXPECT_EQ(recycled.take().buffer, 0u);
  recycled.sent(100, 150);
  EXPECT_TRUE(recycled.keep({3, 100})) << "room again";
}

TEST(RecycledBuffers, the_oldest_first) {
  RecycledBuffers recycled;
  recycled.sent(100, 100);
  for (uint32_t buffer = 0; buffer < 4; ++buffer) ASSERT_TRUE(recycled.keep({buffer, 10 + buffer}));
  for (uint32_t buffer = 0; buffer < 4; ++buffer) {
    const Fragment run = recycled.take();
    EXPECT_EQ(run.buffer, buffer);
    EXPECT_EQ(run.bytes, 10 + buffer);
  }
  EXPECT_TRUE(recycled.empty());
}

TEST(RecycledBuffers, detects_one_way_traffic) {
  RecycledBuffers recycled;
  recycled.sent(60, 100);
  EXPECT_FALSE(recycled.one_way());
  recycled.sent(60, 100);
  EXPECT_TRUE(recycled.one_way());
  ASSERT_TRUE(recycled.keep({0, 10}));
  EXPECT_FALSE(recycled.one_way());
}

}  // namespace
}  // namespace hearth::p2p
