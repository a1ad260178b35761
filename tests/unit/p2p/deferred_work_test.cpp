#include "p2p/deferred_work.h"

#include <gtest/gtest.h>

#include "recording_transport.h"

namespace hearth::p2p {
namespace {

constexpr PeerIndex kSelf = 2;

TEST(deferred_work, releases_wait_for_idle_time) {
  RecordingTransport transport;
  transport.fragment_bytes = 1 << 20;
  DeferredWork work(kSelf, 4, transport);
  EXPECT_FALSE(work.any());
  work.release(1, {5, 100});
  work.release(1, {6 | kBufferOfReceiver, 100});
  EXPECT_TRUE(work.any());
  EXPECT_TRUE(transport.released.empty());
  work.run();
  // The second run is of this process's own pool.
  const std::vector<RecordingTransport::Buffers> expected = {{1, 5, 1}, {kSelf, 6, 1}};
  EXPECT_EQ(transport.released, expected);
  EXPECT_FALSE(work.any());
}

// Together, all receivers withhold at most a share of the owner's pool.
TEST(deferred_work, many_or_long_releases_do_not_wait) {
  RecordingTransport transport;
  transport.fragment_bytes = 4 * 1000;
  DeferredWork work(kSelf, 4, transport);
  work.release(1, {0, 1000});
  EXPECT_TRUE(transport.released.empty());
  work.release(1, {1, 1});
  EXPECT_EQ(transport.released.size(), 2u);
  transport.released.clear();
  for (uint32_t buffer = 0; buffer < 7; ++buffer) work.release(1, {buffer, 1});
  EXPECT_TRUE(transport.released.empty());
  work.release(1, {7, 1});
  EXPECT_EQ(transport.released.size(), 8u);
}

TEST(deferred_work, room_for_the_next_packet_is_prefetched_once) {
  RecordingTransport transport;
  DeferredWork work(kSelf, 4, transport);
  uint32_t prefetched = 0;
  work.sent_in_ring(1, 600, prefetched);
  EXPECT_EQ(prefetched, 0u);
  work.run();
  EXPECT_EQ(prefetched, 600u);
  work.run();
  EXPECT_EQ(transport.prefetched, (std::vector<size_t>{600}));

  prefetched = 0;
  transport.has_room_to_prefetch = false;
  work.sent_in_ring(1, 600, prefetched);
  work.run();
  EXPECT_EQ(prefetched, 0u);
}

TEST(deferred_work, bounce_buffers_are_prefetched_one_per_run) {
  RecordingTransport transport;
  transport.buffers_to_prefetch = 2;
  DeferredWork work(kSelf, 4, transport);
  work.sent_in_buffers(10 << 20);  // would evict the program's data
  EXPECT_FALSE(work.any());
  work.sent_in_buffers(64 << 10);
  work.run();
  EXPECT_EQ(transport.buffers_to_prefetch, 1);
  EXPECT_TRUE(work.any());
  work.run();
  work.run();
  EXPECT_FALSE(work.any());
}

}  // namespace
}  // namespace hearth::p2p
