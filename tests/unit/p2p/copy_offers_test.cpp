#include "p2p/copy_offers.h"

#include <gtest/gtest.h>

#include <vector>

#include "p2p/cma_access.h"
#include "single_copy_parts.h"

namespace hearth::p2p {
namespace {

constexpr uint64_t kLong = 5000;

struct CopyOffersTest : testing::Test, SingleCopyParts {
  ~CopyOffersTest() override {
    if (request != nullptr) requests.destroy(request);
  }
  CopyOffers::Offer offer(PeerIndex to = 1, uint64_t bytes = kLong) {
    if (request != nullptr) requests.destroy(request);
    data.assign(bytes, std::byte{3});
    request = request_of(RequestKind::send, data, to);
    return offers.offer(*request, bytes, true);
  }
  CopyOffers::Answer serve(uint8_t flags, std::vector<std::byte>& to) {
    return offers.serve(*request, flags, {reinterpret_cast<uint64_t>(to.data()), to.size(), 0});
  }

  CopyOffers offers{pairs, *access, nullptr, nullptr, counters};
  std::vector<std::byte> data;
  Request* request = nullptr;
};

TEST_F(CopyOffersTest, a_message_from_the_threshold_on_is_offered_by_its_address) {
  EXPECT_EQ(offer(1, SingleCopyThresholds::kBytesMin - 1).flags, 0);
  const CopyOffers::Offer long_message = offer(1, SingleCopyThresholds::kBytesMin);
  EXPECT_EQ(long_message.flags, kSingleCopy);
  EXPECT_EQ(long_message.address, reinterpret_cast<uint64_t>(data.data()));
}

TEST_F(CopyOffersTest, elements_with_gaps_are_not_offered) {
  type.contiguous = false;
  type.extent = type.true_extent = 2;
  EXPECT_EQ(offer().flags, 0);
}

TEST_F(CopyOffersTest, a_receiver_that_declines_gets_no_further_offer) {
  offers.declined(1, kNoArena);
  EXPECT_EQ(offer().flags, kSingleCopy) << "only the arena was declined";
  offers.declined(1, kNoSingleCopy);
  EXPECT_EQ(offer().flags, 0);
  EXPECT_EQ(offer(0).flags, kSingleCopy) << "another receiver";
}

TEST_F(CopyOffersTest, a_receiver_that_lags_gets_messages_through_bounce_buffers) {
  PairProtocol& limits = pairs.know(1).protocol;
  limits.fragment_bytes_max = kLong;
  limits.fragments_in_flight_max = 1;
  ASSERT_EQ(offer().flags, kSingleCopy);
  offers.began(request->key, kLong, kSingleCopy);
  offers.ended(request->key, kLong);
  offers.waited(request->key, kLong, 1'000'000'000);
  EXPECT_EQ(offer().flags, 0);
  EXPECT_EQ(offer(1, kLong + 1).flags, kSingleCopy) << "longer than the bounce buffers";
}

TEST_F(CopyOffersTest, the_whole_message_is_written_on_request) {
  offer();
  std::vector<std::byte> to(kLong);
  const CopyOffers::Answer answer = serve(kByMethod | kAlone, to);
  EXPECT_EQ(answer.served, CopyOffers::Served::answer_written);
  EXPECT_EQ(answer.flags, 0);
  EXPECT_EQ(to, data);
  EXPECT_EQ(counters.bytes_copied_by_sender, kLong);
}

TEST_F(CopyOffersTest, a_refused_write_is_reported_and_not_tried_again) {
  offer();
  std::vector<std::byte> to(kLong);
  ASSERT_NE(access->writer_of(1), nullptr);
  method.writes = false;
  EXPECT_EQ(serve(kByMethod | kAlone, to).flags, kNotWritten | kNeverWritten);
  method.writes = true;
  EXPECT_EQ(serve(kByMethod | kAlone, to).flags, kNotWritten | kNeverWritten);
  EXPECT_EQ(to, std::vector<std::byte>(kLong));
  EXPECT_EQ(counters.bytes_copied_by_sender, 0u);
}

TEST_F(CopyOffersTest, a_write_beyond_the_limit_of_accesses_is_left_to_another_time) {
  offer();
  std::vector<std::byte> to(kLong);
  shm::CopyControlBlock& block = access->control_block(1);
  {
    const CmaAccess one(&block, 4, 0);
    const CmaAccess other(&block, 4, 1);
    EXPECT_EQ(serve(kByMethod | kAlone, to).flags, kNotWritten);
  }
  EXPECT_EQ(serve(kByMethod | kAlone, to).flags, 0);
}

TEST_F(CopyOffersTest, invalid_requests_copy_nothing) {
  offer();
  std::vector<std::byte> to(kLong);
  EXPECT_EQ(serve(kAlone, to).served, CopyOffers::Served::invalid);
  EXPECT_EQ(serve(0, to).served, CopyOffers::Served::invalid) << "there is no arena";
  EXPECT_EQ(counters.bytes_copied_by_sender, 0u);
}

}  // namespace
}  // namespace hearth::p2p
