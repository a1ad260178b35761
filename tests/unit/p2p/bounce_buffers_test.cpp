#include "p2p/bounce_buffers.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "recording_transport.h"
#include "shm/corruption.h"

namespace hearth::p2p {
namespace {

constexpr PeerIndex kSelf = 0;

/// Hands out its own buffers in order.
struct Buffers : RecordingTransport {
  Buffers() { fragment_bytes = 1 << 20; }
  int take(size_t, const RunOptions&) override { return next == 8 ? -1 : next++; }
  bool returned(PeerIndex, int buffer, uint32_t) override { return buffer == emptied; }
  std::byte* memory(PeerIndex, int buffer, size_t bytes) override {
    return static_cast<size_t>(buffer) + bytes <= sizeof bytes_ ? bytes_ + buffer : nullptr;
  }
  int next = 0;
  int emptied = -1;
  std::byte bytes_[64] = {};
};

struct BounceBuffersTest : testing::Test {
  Buffers transport;
  UnexpectedQueue unexpected;
  FatalErrors errors{kSelf, nullptr, unexpected};
  DeferredWork deferred{kSelf, 3, transport};
  BounceBuffers buffers{kSelf, 3, transport, deferred, errors};
};

TEST_F(BounceBuffersTest, runs_of_a_dead_process_return_to_the_pool_once) {
  EXPECT_EQ(buffers.take(1, 100, {}), 0);
  EXPECT_EQ(buffers.take(2, 100, {}), 1);
  EXPECT_EQ(buffers.take(1, 100, {}), 2);
  transport.emptied = 2;  // released before the death
  buffers.reclaim(1);
  const std::vector<RecordingTransport::Buffers> expected = {{kSelf, 0, kSelf}};
  EXPECT_EQ(transport.released, expected);
  buffers.reclaim(1);
  EXPECT_EQ(transport.released.size(), 1u);
}

TEST_F(BounceBuffersTest, a_run_that_came_back_is_not_reclaimed) {
  EXPECT_EQ(buffers.take(1, 100, {}), 0);
  buffers.came(1, {0 | kBufferOfReceiver, 100});
  buffers.reclaim(1);
  EXPECT_TRUE(transport.released.empty());
}

TEST_F(BounceBuffersTest, a_run_is_kept_within_the_allowance) {
  buffers.emptied(1, {5, 100}, true);
  EXPECT_TRUE(buffers.recycled(1).empty()) << "nothing was sent to the peer";
  buffers.recycled(1).sent(150, buffers.recycled_bytes_max(1));
  buffers.emptied(1, {6, 100}, false);
  EXPECT_TRUE(buffers.recycled(1).empty()) << "not allowed for this message";
  buffers.emptied(1, {7, 100}, true);
  EXPECT_FALSE(buffers.recycled(1).empty());
  deferred.run();
  EXPECT_EQ(transport.released.size(), 2u);
  buffers.release_recycled(1);
  EXPECT_EQ(transport.released.size(), 3u);
  EXPECT_EQ(transport.released.back().buffer, 7);
}

TEST_F(BounceBuffersTest, a_dropped_run_is_released_if_it_exists) {
  buffers.drop(1, {60, 100});
  deferred.run();
  EXPECT_TRUE(transport.released.empty());
  buffers.drop(1, {3, 10});
  deferred.run();
  EXPECT_EQ(transport.released.size(), 1u);
}

// A stray write damaged the packet: nothing else can name a run that was not sent.
TEST_F(BounceBuffersTest, a_run_that_was_not_sent_to_the_peer_ends_the_job) {
  shm::set_corruption_handler([](Status) { throw std::runtime_error(last_failure_text()); });
  EXPECT_EQ(buffers.take(2, 100, {}), 0);
  EXPECT_THROW(buffers.came(1, {0 | kBufferOfReceiver, 100}), std::runtime_error);
  EXPECT_THROW(buffers.memory_of(1, {60, 100}), std::runtime_error);
  EXPECT_NO_THROW(buffers.came(2, {0 | kBufferOfReceiver, 100}));
  shm::set_corruption_handler(nullptr);
}

}  // namespace
}  // namespace hearth::p2p
