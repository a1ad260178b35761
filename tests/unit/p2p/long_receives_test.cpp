#include "p2p/long_receives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "mpi.h"
#include "rendezvous_parts.h"
#include "shm/corruption.h"

namespace hearth::p2p {
namespace {

constexpr uint32_t kCookie = 5;

struct LongReceivesTest : testing::Test, RendezvousParts {
  LongReceivesTest() {
    shm::set_corruption_handler([](Status) { throw std::runtime_error(last_failure_text()); });
  }
  ~LongReceivesTest() override { shm::set_corruption_handler(nullptr); }

  /// Process 1 announces a message; `first` bytes of it are in its buffer 0.
  void announce(const std::vector<std::byte>& data, size_t first, uint8_t flags = 0) {
    if (first != 0) std::memcpy(transport.memory(1, 0, first), data.data(), first);
    const RendezvousStart start = {data.size(), {0, static_cast<uint32_t>(first)}, 0};
    const auto bytes = static_cast<uint32_t>(rendezvous_bytes(flags));
    const auto kind = static_cast<uint8_t>(PacketKind::rendezvous);
    receives.on_rendezvous(1, {shm::PacketHeader::make_commit(kind, flags, bytes, kCookie), match_word(4, 7)},
                           reinterpret_cast<const std::byte*>(&start));
  }
  void send_fragment(const std::vector<std::byte>& data, size_t from, size_t bytes, uint32_t buffer) {
    std::memcpy(transport.memory(1, static_cast<int>(buffer), bytes), data.data() + from, bytes);
    receives.on_buffered_fragment(1, kCookie, {buffer, static_cast<uint32_t>(bytes)});
  }

  OfferedCopies copies{transport, requests, pairs, access, nullptr, nullptr, counters};
  LongReceives receives{0,
                        {transport, matching, requests, pairs, buffers, copies, sends, answers, errors,
                         nullptr, nullptr, counters}};
};

TEST_F(LongReceivesTest, fragments_complete_a_posted_receive) {
  const std::vector<std::byte> data = pattern(10'000);
  std::vector<std::byte> buffer(data.size());
  Request* request = receive_into(buffer, 1);
  ASSERT_EQ(matching.post(*request), nullptr);
  announce(data, 4000);
  EXPECT_FALSE(request->complete);
  send_fragment(data, 4000, 4096, 1);
  const std::byte* rest = data.data() + 8096;
  receives.on_ring_fragment(1, kCookie, rest, data.size() - 8096);  // inside the ring
  EXPECT_TRUE(request->complete && request->outcome.ok());
  EXPECT_EQ(request->received_bytes, 10'000);
  EXPECT_EQ(buffer, data);
  deferred.run();
  EXPECT_EQ(transport.released.size(), 2u);
  requests.destroy(request);
}

TEST_F(LongReceivesTest, an_unexpected_message_keeps_its_fragments_until_the_match) {
  const std::vector<std::byte> data = pattern(8000);
  announce(data, 4000);
  send_fragment(data, 4000, 4000, 1);
  EXPECT_GT(transport.unexpected_bytes, 0);
  deferred.run();
  EXPECT_TRUE(transport.released.empty()) << "nothing was read";
  std::vector<std::byte> buffer(data.size());
  Request* request = receive_into(buffer, 1);
  UnexpectedMessage* message = matching.post(*request);
  ASSERT_NE(message, nullptr);
  receives.attach(*message->stream, *request, message->key.tag);
  matching.destroy(message);
  EXPECT_TRUE(request->complete);
  EXPECT_EQ(buffer, data);
  requests.destroy(request);
}

TEST_F(LongReceivesTest, a_message_of_which_nothing_was_sent_is_asked_for) {
  const std::vector<std::byte> data = pattern(8000);
  std::vector<std::byte> buffer(data.size());
  Request* request = receive_into(buffer, 1);
  ASSERT_EQ(matching.post(*request), nullptr);
  announce(data, 0, kSynchronous);
  ASSERT_EQ(transport.packets.size(), 2u);
  EXPECT_EQ(packets_of(PacketKind::matched), 1u);
  EXPECT_EQ(packets_of(PacketKind::clear_to_send), 1u);
  EXPECT_EQ(transport.packets[1].header.cookie(), kCookie);
  send_fragment(data, 0, 8000, 0);
  EXPECT_EQ(buffer, data);
  EXPECT_TRUE(request->complete);
  requests.destroy(request);
}

// Without an arena the receiver cannot use the offer, and tells the sender so.
TEST_F(LongReceivesTest, an_offer_that_cannot_be_used_is_declined) {
  const std::vector<std::byte> data = pattern(8000);
  std::vector<std::byte> buffer(data.size());
  Request* request = receive_into(buffer, 1);
  ASSERT_EQ(matching.post(*request), nullptr);
  announce(data, 0, kInArena);
  ASSERT_EQ(packets_of(PacketKind::clear_to_send), 1u);
  EXPECT_EQ(transport.packets[0].header.flags(), kNoArena);
  EXPECT_FALSE(receives.on_written(1, kCookie, 0)) << "the sender was not asked to write";
  send_fragment(data, 0, 8000, 0);
  EXPECT_EQ(buffer, data);
  requests.destroy(request);
}

TEST_F(LongReceivesTest, a_longer_message_is_truncated) {
  const std::vector<std::byte> data = pattern(8000);
  std::vector<std::byte> buffer(5000);
  Request* request = receive_into(buffer, 1);
  ASSERT_EQ(matching.post(*request), nullptr);
  announce(data, 4000);
  send_fragment(data, 4000, 4000, 1);
  EXPECT_EQ(request->outcome.error_class(), MPI_ERR_TRUNCATE);
  EXPECT_EQ(request->received_bytes, 5000);
  EXPECT_TRUE(std::equal(buffer.begin(), buffer.end(), data.begin()));
  requests.destroy(request);
}

TEST_F(LongReceivesTest, a_dropped_message_releases_its_buffers) {
  const std::vector<std::byte> data = pattern(12'000);
  announce(data, 4000);
  UnexpectedMessage* message = matching.take({4, 1, 7});
  receives.drop(*message->stream);
  matching.destroy(message);
  send_fragment(data, 4000, 4000, 1);  // on its way before the sender learned of it
  deferred.run();
  EXPECT_EQ(transport.released.size(), 2u);
}

TEST_F(LongReceivesTest, a_receive_ends_with_the_error_of_its_key) {
  const std::vector<std::byte> data = pattern(12'000);
  std::vector<std::byte> buffer(data.size());
  Request* request = receive_into(buffer, MPI_ANY_SOURCE);
  ASSERT_EQ(matching.post(*request), nullptr);
  announce(data, 4000);
  const auto error_from = [](PeerIndex peer) {
    return [peer](const MatchKey& key) { return key.peer == peer ? Status::error(MPI_ERR_OTHER) : Status(); };
  };
  EXPECT_FALSE(receives.end_if(error_from(2), failures));
  EXPECT_TRUE(receives.end_if(error_from(1), failures));
  EXPECT_EQ(request->outcome.error_class(), MPI_ERR_OTHER);
  EXPECT_EQ(request->from, 1);
  EXPECT_FALSE(receives.end_if(error_from(1), failures));
  requests.destroy(request);
}

TEST_F(LongReceivesTest, damaged_packets_end_the_job) {
  const std::vector<std::byte> data = pattern(8000);
  std::vector<std::byte> buffer(data.size());
  Request* request = receive_into(buffer, 1);
  ASSERT_EQ(matching.post(*request), nullptr);
  announce(data, 4000);
  EXPECT_THROW(receives.on_buffered_fragment(1, kCookie, {1, 4001}), std::runtime_error)
      << "more than was announced";
  EXPECT_THROW(receives.on_buffered_fragment(1, kCookie, {1 | kBufferOfReceiver, 10}), std::runtime_error)
      << "a run that was not sent";
}

}  // namespace
}  // namespace hearth::p2p
