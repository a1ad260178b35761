#include "p2p/long_sends.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "mpi.h"
#include "rendezvous_parts.h"

namespace hearth::p2p {
namespace {

struct LongSendsTest : testing::Test, RendezvousParts {
  /// The bytes of all fragments sent so far, in order.
  std::vector<std::byte> carried() {
    std::vector<std::byte> bytes;
    for (const RecordingTransport::Packet& packet : transport.packets) {
      const auto kind = static_cast<PacketKind>(packet.header.kind());
      Fragment fragment = {};
      if (kind == PacketKind::rendezvous) {
        fragment = start_of(packet).fragment;
      } else if (kind == PacketKind::buffered_fragment) {
        std::memcpy(&fragment, packet.payload.data(), sizeof fragment);
      } else if (kind == PacketKind::ring_fragment) {
        bytes.insert(bytes.end(), packet.payload.begin(), packet.payload.end());
      }
      if (fragment.bytes == 0) continue;
      const std::byte* memory = transport.memory(0, static_cast<int>(fragment.buffer), fragment.bytes);
      bytes.insert(bytes.end(), memory, memory + fragment.bytes);
    }
    return bytes;
  }
  static RendezvousStart start_of(const RecordingTransport::Packet& packet) {
    RendezvousStart start = {};
    std::memcpy(&start, packet.payload.data(), packet.payload.size());
    return start;
  }
};

TEST_F(LongSendsTest, a_message_that_fits_the_bounce_buffers_completes_at_once) {
  std::vector<std::byte> data = pattern(10'000);
  Request* request = send_of(data, 1);
  ASSERT_TRUE(sends.start(*request, false));
  EXPECT_TRUE(request->complete && request->outcome.ok());
  EXPECT_EQ(start_of(transport.packets[0]).bytes, data.size());
  EXPECT_EQ(carried(), data);
  EXPECT_FALSE(sends.any_sending());
  EXPECT_EQ(counters.long_messages_sent, 1u);
  requests.destroy(request);
}

TEST_F(LongSendsTest, released_buffers_are_credit_for_further_fragments) {
  std::vector<std::byte> data = pattern(300'000);
  Request* request = send_of(data, 1);
  ASSERT_TRUE(sends.start(*request, false));
  EXPECT_FALSE(request->complete);
  EXPECT_TRUE(sends.any_sending());
  EXPECT_FALSE(sends.push_all()) << "no buffer was released";
  const size_t sent = carried().size();
  for (int buffer = 0; buffer < BufferTransport::kBuffers; ++buffer) transport.emptied[buffer] = true;
  // All buffers of this transport are used once, so a matched message goes on through the ring.
  EXPECT_TRUE(sends.push_all());
  EXPECT_GT(carried().size(), sent);
  EXPECT_EQ(carried(), data);
  EXPECT_TRUE(request->complete);
  requests.destroy(request);
}

// Many unmatched messages must not take the buffers that a matched one needs.
TEST_F(LongSendsTest, only_a_matched_message_may_take_the_last_buffers) {
  std::vector<std::byte> data = pattern(10'000);
  Request* early = send_of(data, 1);
  ASSERT_TRUE(sends.start(*early, false));
  ASSERT_FALSE(transport.bytes_left.empty());
  EXPECT_GE(transport.bytes_left[0], 4 * data.size());
  for (size_t i = 1; i < transport.bytes_left.size(); ++i)
    EXPECT_EQ(transport.bytes_left[i], 0u) << "a message that has begun";
  transport.bytes_left.clear();
  Request* matched = send_of(data, 1);
  ASSERT_TRUE(sends.start(*matched, true));
  EXPECT_TRUE(sends.on_clear_to_send(*matched, 0));
  ASSERT_FALSE(transport.bytes_left.empty());
  for (const size_t bytes : transport.bytes_left) EXPECT_EQ(bytes, 0u);
  requests.destroy(early);
  requests.destroy(matched);
}

TEST_F(LongSendsTest, knows_the_peers_of_messages_that_wait) {
  std::vector<std::byte> data = pattern(10'000);
  EXPECT_FALSE(sends.any_unfinished_to(1));
  Request* request = send_of(data, 1);
  ASSERT_TRUE(sends.start(*request, false));
  EXPECT_FALSE(sends.any_unfinished_to(1)) << "all of it is in bounce buffers";
  requests.destroy(request);
  for (const bool ends : {false, true}) {
    request = send_of(data, 1);
    ASSERT_TRUE(sends.start(*request, true));
    EXPECT_TRUE(sends.any_unfinished_to(1));
    EXPECT_FALSE(sends.any_unfinished_to(2));
    if (ends) {
      sends.end(*request, fail(MPI_ERR_OTHER, "for the test"));
    } else {
      EXPECT_TRUE(sends.on_clear_to_send(*request, 0));
    }
    EXPECT_FALSE(sends.any_unfinished_to(1));
    requests.destroy(request);
  }
}

TEST_F(LongSendsTest, a_held_message_sends_nothing_before_its_match) {
  std::vector<std::byte> data = pattern(10'000);
  Request* request = send_of(data, 1);
  ASSERT_TRUE(sends.start(*request, true));
  EXPECT_EQ(transport.packets.size(), 1u);
  EXPECT_TRUE(carried().empty());
  EXPECT_FALSE(sends.push_all());
  EXPECT_FALSE(sends.on_clear_to_send(*request, kBufferAwaited)) << "this transport carries no buffers";
  EXPECT_TRUE(sends.on_clear_to_send(*request, 0));
  EXPECT_EQ(carried(), data);
  EXPECT_TRUE(request->complete);
  requests.destroy(request);
}

TEST_F(LongSendsTest, without_room_for_the_announcement_nothing_is_sent) {
  std::vector<std::byte> data = pattern(10'000);
  Request* request = send_of(data, 1);
  transport.room = 0;
  EXPECT_FALSE(sends.start(*request, false));
  EXPECT_EQ(request->send_stream, nullptr);
  transport.room = SIZE_MAX;
  EXPECT_TRUE(sends.start(*request, false));
  EXPECT_EQ(carried(), data);
  requests.destroy(request);
}

TEST_F(LongSendsTest, a_full_ring_interrupts_a_message_between_fragments) {
  std::vector<std::byte> data = pattern(30'000);
  Request* request = send_of(data, 1);
  for (transport.room = 1; !request->complete; ++transport.room) {
    if (transport.room == 1) {
      ASSERT_TRUE(sends.start(*request, false));
    } else {
      sends.push_all();
    }
    ASSERT_LE(transport.packets.size(), transport.room);
    ASSERT_LT(transport.room, 100u);
  }
  EXPECT_EQ(carried(), data);
  requests.destroy(request);
}

TEST_F(LongSendsTest, a_synchronous_send_waits_for_the_match) {
  std::vector<std::byte> data = pattern(10'000);
  Request* request = send_of(data, 1, SendMode::synchronous);
  ASSERT_TRUE(sends.start(*request, false));
  EXPECT_EQ(carried(), data);
  EXPECT_FALSE(request->complete);
  EXPECT_TRUE(transport.packets[0].header.flags() & kSynchronous);
  EXPECT_TRUE(sends.on_matched(*request));
  EXPECT_TRUE(request->complete);
  EXPECT_FALSE(sends.on_matched(*request)) << "only once";
  requests.destroy(request);
}

TEST_F(LongSendsTest, an_ended_send_is_forgotten) {
  std::vector<std::byte> data = pattern(300'000);
  Request* request = send_of(data, 1);
  ASSERT_TRUE(sends.start(*request, false));
  std::vector<Request*> found;
  sends.find([](const Request& one) { return one.key.peer == 2; }, true, found);
  EXPECT_TRUE(found.empty());
  sends.find([](const Request& one) { return one.key.peer == 1; }, true, found);
  EXPECT_EQ(found, (std::vector<Request*>{request}));
  sends.end(*request, Status::error(MPI_ERR_OTHER));
  EXPECT_TRUE(request->complete);
  EXPECT_EQ(request->outcome.error_class(), MPI_ERR_OTHER);
  EXPECT_FALSE(sends.any_sending());
  EXPECT_EQ(requests.sends_pending(), 0u);
  requests.destroy(request);
}

TEST_F(LongSendsTest, answers_that_do_not_fit_the_state_are_invalid) {
  std::vector<std::byte> data = pattern(300'000);
  Request* request = send_of(data, 1);
  ASSERT_TRUE(sends.start(*request, false));
  EXPECT_FALSE(sends.on_finished(*request)) << "the buffer was not offered";
  EXPECT_FALSE(sends.on_buffer_left(*request)) << "not held";
  const CooperativeRequest copy = {0, 100, 1};
  EXPECT_FALSE(sends.on_cooperative_request(*request, 0, reinterpret_cast<const std::byte*>(&copy)));
  sends.end(*request, Status::error(MPI_ERR_OTHER));
  requests.destroy(request);
}

// The receiver filled this run for an answer, so it has read what was in it.
TEST_F(LongSendsTest, a_recycled_run_acknowledges_the_earlier_fragment) {
  std::vector<std::byte> data = pattern(300'000);
  Request* request = send_of(data, 1);
  ASSERT_TRUE(sends.start(*request, false));
  const int in_flight = request->send_stream->in_flight;
  ASSERT_GT(in_flight, 0);
  const auto first = static_cast<uint32_t>(request->send_stream->in_buffers[0].buffer);
  sends.note_answer(2, {first | kBufferOfReceiver, 100});
  EXPECT_EQ(request->send_stream->in_buffers[0].buffer, static_cast<int>(first)) << "another peer";
  sends.note_answer(1, {first | kBufferOfReceiver, 100});
  EXPECT_EQ(request->send_stream->in_buffers[0].buffer, -1);
  sends.end(*request, Status::error(MPI_ERR_OTHER));
  requests.destroy(request);
}

}  // namespace
}  // namespace hearth::p2p
