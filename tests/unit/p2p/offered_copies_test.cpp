#include "p2p/offered_copies.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "p2p/cma_access.h"
#include "shm/corruption.h"
#include "single_copy_parts.h"

namespace hearth::p2p {
namespace {

constexpr size_t kLong = 5000;
using Copied = OfferedCopies::Copied;

struct OfferedCopiesTest : testing::Test, SingleCopyParts {
  OfferedCopiesTest() {
    shm::set_corruption_handler([](Status) { throw std::runtime_error(last_failure_text()); });
    for (size_t i = 0; i < kLong; ++i) sent[i] = static_cast<std::byte>(i * 7 % 251);
    stream.from = 1;
    stream.cookie = 9;
    stream.flags = kSingleCopy;
    stream.address = reinterpret_cast<uint64_t>(sent.data());
    stream.total_bytes = kLong;
    request = request_of(RequestKind::receive, received, 1);
  }
  ~OfferedCopiesTest() override {
    requests.destroy(request);
    shm::set_corruption_handler(nullptr);
  }
  Copied copy() { return copies.copy(stream, *request); }

  OfferedCopies copies{transport, requests, pairs, *access, nullptr, nullptr, counters};
  std::vector<std::byte> sent = std::vector<std::byte>(kLong);
  std::vector<std::byte> received = std::vector<std::byte>(kLong);
  ReceiveStream stream = {};
  Request* request = nullptr;
};

TEST_F(OfferedCopiesTest, an_offered_buffer_is_read) {
  EXPECT_EQ(copy(), Copied::whole);
  EXPECT_EQ(received, sent);
  EXPECT_TRUE(transport.packets.empty());
  EXPECT_EQ(CmaAccess::count(access->control_block(1)), 0) << "the access has ended";
}

TEST_F(OfferedCopiesTest, a_shorter_receive_copies_what_fits) {
  request->count = 1000;
  EXPECT_EQ(copy(), Copied::whole);
  EXPECT_EQ(received[999], sent[999]);
  EXPECT_EQ(received[1000], std::byte{0});
}

TEST_F(OfferedCopiesTest, what_is_not_offered_comes_in_fragments) {
  stream.flags = 0;
  EXPECT_EQ(copy(), Copied::not_now);
  stream.flags = kInArena;
  EXPECT_EQ(copy(), Copied::never) << "there is no arena";
}

TEST_F(OfferedCopiesTest, a_refused_read_asks_the_sender_to_write) {
  ASSERT_NE(access->reader_of(1), nullptr);
  method.reads = false;
  EXPECT_EQ(copy(), Copied::by_sender);
  EXPECT_TRUE(stream.asked_to_write);
  ASSERT_EQ(transport.packets.size(), 1u);
  const auto& packet = transport.packets[0];
  EXPECT_EQ(packet.header.kind(), static_cast<uint8_t>(PacketKind::cooperative_request));
  EXPECT_EQ(packet.header.flags(), kByMethod | kAlone);
  EXPECT_EQ(packet.header.cookie(), 9u);
  CooperativeRequest asked;
  std::memcpy(&asked, packet.payload.data(), sizeof asked);
  EXPECT_EQ(asked.to, reinterpret_cast<uint64_t>(received.data()));
  EXPECT_EQ(asked.bytes, kLong);
}

TEST_F(OfferedCopiesTest, after_both_ways_failed_the_sender_is_told_so) {
  method.reads = false;
  copies.writing_declined(1);
  EXPECT_EQ(copy(), Copied::never);
  EXPECT_TRUE(transport.packets.empty());
}

TEST_F(OfferedCopiesTest, without_room_for_the_request_it_is_tried_later) {
  method.reads = false;
  transport.room = 0;
  EXPECT_EQ(copy(), Copied::not_now);
  EXPECT_FALSE(stream.asked_to_write);
}

TEST_F(OfferedCopiesTest, reads_beyond_the_limit_of_accesses_come_in_fragments) {
  shm::CopyControlBlock& block = access->control_block(1);
  const CmaAccess one(&block, 4, 0);
  const CmaAccess other(&block, 4, 1);
  EXPECT_EQ(copy(), Copied::not_now);
  EXPECT_EQ(received, std::vector<std::byte>(kLong));
}

TEST_F(OfferedCopiesTest, a_cooperative_copy_does_not_depend_on_the_sender) {
  pairs.know(1).protocol.single_copy_cooperative_bytes_min = 1;
  EXPECT_EQ(copy(), Copied::whole);
  EXPECT_EQ(received, sent);
  ASSERT_EQ(transport.packets.size(), 1u) << "the sender was asked to help";
  EXPECT_EQ(transport.packets[0].header.flags(), kByMethod);
  EXPECT_EQ(counters.cooperative_requests, 1u);
}

// The receiver measures both ways from a length on, and switches to the faster one.
TEST_F(OfferedCopiesTest, measured_messages_try_both_ways) {
  pairs.know(1).protocol.single_copy_bytes_min = tune::kNever;
  EXPECT_EQ(copy(), Copied::not_now) << "the first message goes through bounce buffers";
  EXPECT_NE(stream.measured_since_ns, 0u);
  stream.measured_since_ns = 1;  // the bounce buffers took very long
  copies.ended(stream);
  EXPECT_EQ(copy(), Copied::whole) << "the second one is a trial";
  copies.ended(stream);
  EXPECT_EQ(copy(), Copied::whole) << "single copy was faster";
}

TEST_F(OfferedCopiesTest, a_message_to_itself_takes_the_address_of_its_own_request) {
  Request* send = request_of(RequestKind::send, sent, 0);
  requests.begin_send(*send);
  stream.from = 0;
  stream.cookie = requests.issue_cookie(*send);
  stream.address = 0;
  EXPECT_EQ(copy(), Copied::whole);
  EXPECT_EQ(received, sent);
  stream.cookie += 1000;
  EXPECT_THROW(copy(), std::runtime_error) << "no such request";
  requests.destroy(send);
}

}  // namespace
}  // namespace hearth::p2p
