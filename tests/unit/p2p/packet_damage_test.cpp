#include "p2p/packet_damage.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "shm/corruption.h"

namespace hearth::p2p {
namespace {

std::vector<std::string> warnings;

struct PacketDamageTest : testing::Test {
  PacketDamageTest() {
    warnings.clear();
    shm::set_corruption_handler([](Status) { throw std::runtime_error(last_failure_text()); });
  }
  ~PacketDamageTest() override { shm::set_corruption_handler(nullptr); }
  static shm::PacketHeader header_of(PacketKind kind) {
    return {shm::PacketHeader::make_commit(static_cast<uint8_t>(kind), 0, 24, 5), 0};
  }
  PacketDamage damage{3, [](const char* text) { warnings.emplace_back(text); }};
};

TEST_F(PacketDamageTest, an_answer_without_a_send_is_reported_once) {
  damage.report(1, header_of(PacketKind::matched), false);
  damage.report(2, header_of(PacketKind::finished), false);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("process 3 found a damaged packet from process 1"), std::string::npos);
}

TEST_F(PacketDamageTest, answers_to_sends_that_a_failure_ended_are_expected) {
  damage.report(1, header_of(PacketKind::clear_to_send), true);
  EXPECT_TRUE(warnings.empty());
  damage.report(1, header_of(PacketKind::clear_to_send), false);
  EXPECT_EQ(warnings.size(), 1u) << "the expected one was not the one report";
}

TEST_F(PacketDamageTest, any_other_packet_ends_the_job) {
  for (const PacketKind kind : {PacketKind::eager, PacketKind::buffered_fragment, PacketKind::died}) {
    try {
      damage.report(1, header_of(kind), true);
      ADD_FAILURE() << "it returned";
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find("invalid packet from rank 1 to rank 3"), std::string::npos)
          << error.what();
    }
  }
  EXPECT_TRUE(warnings.empty());
}

}  // namespace
}  // namespace hearth::p2p
