#include "p2p/message_profile.h"

#include <gtest/gtest.h>

#include <vector>

#include "../profile/job.h"

namespace hearth::p2p {
namespace {

/// A ring whose two ends are in this process.
struct Ring {
  static constexpr uint32_t kLines = 1024;
  struct alignas(shm::kLineBytes) Line {
    std::byte bytes[shm::kLineBytes];
  };
  std::vector<Line> memory = std::vector<Line>(kLines + shm::kRingHeadLines);
  std::vector<uint64_t> notes = std::vector<uint64_t>(shm::RingWriter::note_words(kLines));
  shm::RingWriter writer{memory[0].bytes, kLines, shm::WakeWord(), notes.data()};
  shm::RingReader reader{memory[0].bytes, kLines, shm::WakeWord()};
  DirectRings rings{&writer, &reader};

  /// Sends and receives a message as the fast path does; false: it takes the slow path.
  bool pass() {
    const bool fast = writer.claim_short() != nullptr;
    std::byte* slot = fast ? writer.claim_short() : writer.claim(8);
    if (slot == nullptr) return false;
    const uint64_t commit = shm::PacketHeader::make_commit(1, 0, 8, 0);
    if (fast) {
      writer.commit_short(shm::slots_of_short(8), commit, 0);
    } else {
      writer.commit(1, 0, 8, 0, 0);
    }
    reader.peek();
    reader.consume(8);
    return fast;
  }
};

struct MessageProfileTest : testing::Test {
  Pair pair;
  PostedQueue posted;
  Ring ring;
};

TEST_F(MessageProfileTest, without_a_recorder_nothing_is_recorded) {
  const MessageProfile profile(2, nullptr, posted);
  EXPECT_FALSE(profile.active());
  EXPECT_FALSE(profile.traced());
}

TEST_F(MessageProfileTest, the_first_messages_are_recorded_one_by_one) {
  profile::Job job;
  MessageProfile profile(2, &job.recorder(0), posted);
  profile.begin(1, pair);
  for (uint32_t i = 0; i < profile::kSeenEach; ++i) {
    EXPECT_FALSE(profile.allows_fast_path(1, ring.rings));
    profile::frequent_call = 0;
    profile.sent(1, ring.rings, 8, 7);
  }
  EXPECT_TRUE(profile.allows_fast_path(1, ring.rings));
  for (uint32_t i = 0; i < profile::kSeenEach; ++i) EXPECT_FALSE(profile.allows_direct_ring(1, 8, 7));
  EXPECT_TRUE(profile.allows_direct_ring(1, 8, 7));
  profile::frequent_call = -1;
}

TEST_F(MessageProfileTest, a_trace_records_every_message) {
  profile::Job job(100);
  MessageProfile profile(2, &job.recorder(0), posted);
  profile.begin(1, pair);
  EXPECT_TRUE(profile.traced());
  for (uint32_t i = 0; i < 2 * profile::kSeenEach; ++i) {
    profile::frequent_call = 0;
    profile.sent(1, ring.rings, 8, 7);
    ASSERT_FALSE(profile.allows_fast_path(1, ring.rings));
    ASSERT_FALSE(profile.allows_direct_ring(1, 8, 7));
  }
  profile::frequent_call = -1;
}

// The number is right whichever path the messages take.
TEST_F(MessageProfileTest, the_rings_count_what_the_fast_path_carries) {
  profile::Job job;
  MessageProfile profile(2, &job.recorder(0), posted);
  profile.begin(1, pair);
  for (uint32_t i = 0; i < profile::kSeenEach; ++i) {
    profile::frequent_call = 0;
    profile.sent(1, ring.rings, 8, 7);
  }
  const uint64_t recorded = job.part(0).peers[1].sent_unseen;
  uint64_t fast = 0;
  constexpr uint64_t kMessages = 20'000;
  for (uint64_t i = 0; i < kMessages; ++i) {
    if (ring.pass()) {
      ++fast;
    } else {
      profile::frequent_call = 0;
      profile.sent(1, ring.rings, 8, 7);
    }
    ASSERT_TRUE(profile.allows_fast_path(1, ring.rings));
  }
  profile.sample(1, ring.rings);
  profile::frequent_call = -1;
  EXPECT_GT(fast, kMessages / 2) << "the profile slows every message down";
  EXPECT_LT(fast, kMessages) << "no message was sampled";
  // The rest was recorded or counted by sent().
  EXPECT_GE(job.part(0).peers[1].sent_unseen - recorded, fast);
  EXPECT_LE(job.part(0).peers[1].sent_unseen - recorded, kMessages);
}

}  // namespace
}  // namespace hearth::p2p
