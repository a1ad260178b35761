#include "p2p/matching.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "mpi.h"
#include "p2p/envelope.h"

namespace hearth::p2p {
namespace {

shm::PacketHeader header_of(size_t bytes, uint8_t flags = 0, uint32_t cookie = 0) {
  return {shm::PacketHeader::make_commit(static_cast<uint8_t>(PacketKind::eager), flags,
                                         static_cast<uint32_t>(bytes), cookie),
          0};
}

const std::byte* bytes_of(const std::string& text) {
  return reinterpret_cast<const std::byte*>(text.data());
}

std::string text_of(const UnexpectedMessage& message) {
  return {reinterpret_cast<const char*>(message.payload), static_cast<size_t>(message.bytes)};
}

TEST(matching, a_receive_is_posted_if_no_message_matches) {
  Matching matching;
  MatchEntry receive({4, 1, 7});
  EXPECT_TRUE(matching.empty());
  EXPECT_EQ(matching.post(receive), nullptr);
  EXPECT_FALSE(matching.empty());
  EXPECT_EQ(matching.posted().first(), &receive);
  EXPECT_EQ(matching.posted().take({4, 1, 8}), nullptr);
  EXPECT_EQ(matching.posted().take({4, 1, 7}), &receive);
  EXPECT_TRUE(matching.empty());
}

TEST(matching, a_receive_takes_the_oldest_message_that_matches) {
  Matching matching;
  const std::string long_text(500, 'x');
  ASSERT_NE(matching.add({4, 1, 7}, header_of(3, kSynchronous, 42), bytes_of("one")), nullptr);
  ASSERT_NE(matching.add({4, 2, 7}, header_of(long_text.size()), bytes_of(long_text)), nullptr);
  ASSERT_NE(matching.add({4, 1, 7}, header_of(5), bytes_of("three")), nullptr);

  MatchEntry from_two({4, 2, MPI_ANY_TAG});
  UnexpectedMessage* message = matching.post(from_two);
  ASSERT_NE(message, nullptr);
  EXPECT_FALSE(from_two.queued);
  EXPECT_EQ(text_of(*message), long_text);
  EXPECT_NE(message->payload, message->own);
  matching.destroy(message);

  MatchEntry from_any({4, MPI_ANY_SOURCE, 7});
  message = matching.post(from_any);
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(text_of(*message), "one");
  EXPECT_EQ(message->flags, kSynchronous);
  EXPECT_EQ(message->cookie, 42u);
  EXPECT_EQ(message->payload, message->own);
  matching.destroy(message);
  EXPECT_EQ(matching.unexpected().size(), 1u);
}

TEST(matching, a_probe_leaves_the_message_and_a_matched_probe_takes_it) {
  Matching matching;
  ASSERT_NE(matching.add({4, 1, 7}, header_of(3), bytes_of("one")), nullptr);
  EXPECT_EQ(matching.find({4, 1, 8}), nullptr);
  const UnexpectedMessage* found = matching.find({4, MPI_ANY_SOURCE, MPI_ANY_TAG});
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(matching.unexpected().size(), 1u);
  UnexpectedMessage* taken = matching.take({4, 1, 7});
  EXPECT_EQ(taken, found);
  EXPECT_TRUE(matching.empty());
  EXPECT_EQ(matching.take({4, 1, 7}), nullptr);
  matching.destroy(taken);
}

// A long message counts without its data, which are still in the sender.
TEST(matching, memory_of_a_message_includes_only_the_payload_it_stores) {
  Matching matching;
  const std::string text(300, 'y');
  const auto entry = static_cast<int64_t>(sizeof(UnexpectedMessage));
  EXPECT_EQ(matching.add({4, 1, 7}, header_of(text.size()), bytes_of(text))->memory_bytes(), entry + 300);
  // Matching does not look into the stream.
  auto& stream = *reinterpret_cast<ReceiveStream*>(&matching);
  const UnexpectedMessage* announced = matching.add({4, 1, 8}, header_of(16, kInArena, 9), 1 << 20, stream);
  ASSERT_NE(announced, nullptr);
  EXPECT_EQ(announced->stream, &stream);
  EXPECT_EQ(announced->bytes, 1 << 20);
  EXPECT_EQ(announced->cookie, 9u);
  EXPECT_EQ(announced->memory_bytes(), entry);
}

// The queue destroys what it still has.
TEST(matching, messages_taken_by_key_leave_the_others) {
  Matching matching;
  for (int tag = 0; tag < 4; ++tag) {
    ASSERT_NE(matching.add({4, 1, tag}, header_of(1), bytes_of("z")), nullptr);
  }
  matching.destroy(matching.take({4, 1, 2}));
  EXPECT_EQ(matching.find({4, 1, 2}), nullptr);
  EXPECT_EQ(matching.unexpected().size(), 3u);
}

}  // namespace
}  // namespace hearth::p2p
