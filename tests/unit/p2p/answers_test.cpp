#include "p2p/answers.h"

#include <gtest/gtest.h>

#include <vector>

#include "recording_transport.h"

namespace hearth::p2p {
namespace {

struct AnswersTest : testing::Test {
  std::vector<uint32_t> cookies_to(PeerIndex to) const {
    std::vector<uint32_t> cookies;
    for (const RecordingTransport::Packet& packet : transport.packets) {
      if (packet.to == to) cookies.push_back(packet.header.cookie());
    }
    return cookies;
  }

  RecordingTransport transport;
  UnexpectedQueue unexpected;
  FatalErrors errors{0, nullptr, unexpected};
  FailureRecord failures{4, nullptr};
  Answers answers{4, transport, failures, errors};
};

TEST_F(AnswersTest, an_answer_is_sent_at_once_if_there_is_room) {
  answers.send(2, PacketKind::clear_to_send, kNoArena, 77);
  ASSERT_EQ(transport.packets.size(), 1u);
  EXPECT_EQ(transport.packets[0].to, 2);
  EXPECT_EQ(transport.packets[0].header.kind(), static_cast<uint8_t>(PacketKind::clear_to_send));
  EXPECT_EQ(transport.packets[0].header.flags(), kNoArena);
  EXPECT_EQ(transport.packets[0].header.cookie(), 77u);
  EXPECT_TRUE(answers.empty());
}

TEST_F(AnswersTest, answers_to_a_process_keep_their_order) {
  transport.room = 0;
  for (uint32_t cookie = 0; cookie < 5; ++cookie) {
    answers.send(cookie % 2 == 0 ? 1 : 3, PacketKind::finished, 0, cookie);
  }
  EXPECT_FALSE(answers.empty());
  EXPECT_FALSE(answers.serve());
  transport.room = 2;
  EXPECT_TRUE(answers.serve());
  EXPECT_EQ(transport.packets.size(), 2u);
  answers.send(1, PacketKind::finished, 0, 6);
  transport.room = SIZE_MAX;
  answers.send(3, PacketKind::finished, 0, 7);
  EXPECT_TRUE(answers.serve());
  EXPECT_TRUE(answers.empty());
  EXPECT_EQ(cookies_to(1), (std::vector<uint32_t>{0, 2, 4, 6}));
  EXPECT_EQ(cookies_to(3), (std::vector<uint32_t>{1, 3, 7}));
}

TEST_F(AnswersTest, dead_processes_get_no_answers) {
  transport.room = 0;
  answers.send(1, PacketKind::finished, 0, 1);
  failures.note_death(1);
  answers.drop(1);
  answers.send(1, PacketKind::finished, 0, 2);
  transport.room = SIZE_MAX;
  answers.serve();
  EXPECT_TRUE(transport.packets.empty());
  EXPECT_TRUE(answers.empty());
}

}  // namespace
}  // namespace hearth::p2p
