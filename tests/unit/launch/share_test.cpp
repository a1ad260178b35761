// Ranks of one machine (here: threads) that share a segment, and strangers that try to join.
#include "launch/bootstrap_share.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/os_socket.h"
#include "base/param.h"
#include "mpi.h"

namespace hearth::launch {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr std::array<int, 4> kLocals = {2, 5, 6, 9};

// Sets a parameter of this process by name.
void set_parameter(const std::string& name, int64_t value) {
  const std::vector<param::Row> rows = param::rows();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].name == name) ASSERT_TRUE(param::set_number(i, value));
  }
}

/// The first message of a rank.
struct Hello {
  std::array<std::byte, 16> question;
  int32_t rank;
  int32_t reserved;
  std::array<uint64_t, 64> processors;
};

class ShareTest : public testing::Test {
 protected:
  void SetUp() override {
    set_parameter("launch_join_timeout", 20 * kSecond);
    ASSERT_TRUE(make_address(published_, listener_).ok()) << last_failure_text();
  }
  void TearDown() override {
    for (std::thread& thread : ranks_) thread.join();
  }
  void start(int rank) {
    ranks_.emplace_back([this, rank] {
      const size_t place =
          static_cast<size_t>(std::find(kLocals.begin(), kLocals.end(), rank) - kLocals.begin());
      os::Descriptor listener = place == 0 ? std::move(listener_) : os::Descriptor();
      joined_[place] =
          share_segment(published_, std::move(listener), kLocals, rank, segments_[place], arenas_[place])
              .ok();
      if (!joined_[place]) words_[place] = last_failure_text();
    });
  }
  void finish() {
    for (std::thread& thread : ranks_) thread.join();
    ranks_.clear();
  }
  void expect_one_segment() {
    for (size_t i = 0; i < kLocals.size(); ++i) ASSERT_TRUE(joined_[i]) << i << ": " << words_[i];
    for (size_t i = 0; i < kLocals.size(); ++i) segments_[i].rank(static_cast<int>(i)).pid = 100 + i;
    for (size_t i = 0; i < kLocals.size(); ++i) {
      EXPECT_EQ(segments_[0].rank(static_cast<int>(i)).pid, 100 + i) << "not the same memory";
      EXPECT_EQ(segments_[i].rank_count(), 4);
    }
    EXPECT_GE(segments_[0].job().usable_processors, 1u);
    // Data in one rank's arena slice are visible to the other ranks.
    for (size_t i = 0; i < kLocals.size(); ++i) {
      ASSERT_TRUE(arenas_[i].usable()) << arenas_[i].reason();
      std::byte* own = arenas_[i].grow(shm::Arena::Half::blocks, 4096, 4096);
      ASSERT_NE(own, nullptr);
      *own = static_cast<std::byte>(i + 1);
      for (shm::Arena& arena : arenas_) {
        const std::byte* seen = arena.memory_of(static_cast<int>(i), arenas_[i].offset_of(own), 1);
        ASSERT_NE(seen, nullptr);
        EXPECT_EQ(*seen, *own);
      }
    }
  }
  // Sends a packet to the lowest rank; returns whether it replies.
  bool answered(std::span<const std::byte> packet) const {
    const os::Descriptor socket = os::connect_to_name(published_.socket, 5 * kSecond);
    if (!socket.open() || !os::send_packet(socket.number(), packet, {})) return false;
    std::array<std::byte, 64> room;
    std::vector<os::Descriptor> descriptors;
    return os::receive_packet(socket.number(), room, descriptors) > 0 || !descriptors.empty();
  }

  NodeAddress published_;
  os::Descriptor listener_;
  std::vector<std::thread> ranks_;
  std::array<shm::Segment, 4> segments_;
  std::array<shm::Arena, 4> arenas_;
  std::array<bool, 4> joined_ = {};
  std::array<std::string, 4> words_;
};

TEST_F(ShareTest, AllHaveTheSameMemory) {
  for (const int rank : {9, 2, 6, 5}) start(rank);
  finish();
  expect_one_segment();
}

TEST_F(ShareTest, ForeignConnectionsGetNothingAndDisturbNoRank) {
  start(2);
  start(5);
  // Wrong sizes, silence, a wrong secret, and the right secret with ranks that are invalid or have joined
  // already.
  EXPECT_FALSE(answered(std::vector<std::byte>(1)));
  EXPECT_FALSE(answered(std::vector<std::byte>(100'000)));
  const os::Descriptor silent = os::connect_to_name(published_.socket, kSecond);
  EXPECT_TRUE(silent.open());
  Hello hello = {};
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(&hello), sizeof hello);
  hello.rank = 6;
  EXPECT_FALSE(answered(bytes)) << "without the secret";
  hello.question = published_.question;
  hello.question[15] ^= std::byte{1};
  EXPECT_FALSE(answered(bytes)) << "one bit of the secret wrong";
  hello.question = published_.question;
  for (const int rank : {2, 3, -1, 1 << 30}) {
    hello.rank = rank;
    EXPECT_FALSE(answered(bytes)) << "rank " << rank;
  }
  start(6);
  start(9);
  finish();
  expect_one_segment();
}

TEST_F(ShareTest, AnotherUserGetsNothingWhateverItKnows) {
  constexpr uid_t kNobody = 65534;
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  start(2);
  Hello hello = {published_.question, 5, 0, {}};
  const pid_t stranger = ::fork();
  ASSERT_GE(stranger, 0);
  if (stranger == 0) {
    const bool other = ::setresuid(kNobody, kNobody, kNobody) == 0;
    ::_exit(!other || answered({reinterpret_cast<const std::byte*>(&hello), sizeof hello}) ? 1 : 0);
  }
  int ended = -1;
  ASSERT_EQ(::waitpid(stranger, &ended, 0), stranger);
  EXPECT_EQ(ended, 0) << "it got an answer";
  for (const int rank : {5, 6, 9}) start(rank);
  finish();
  expect_one_segment();
}

TEST_F(ShareTest, AWrongAnswerIsRefused) {
  // A process that owns the lowest rank's socket name but does not know the secret.
  const NodeAddress published = published_;
  published_.answer[0] ^= std::byte{1};
  std::thread host([this, &published] {
    shm::Segment segment;
    shm::Arena arena;
    NodeAddress other = published;
    share_segment(other, std::move(listener_), std::array<int, 2>{2, 5}, 2, segment, arena).ok();
  });
  shm::Segment segment;
  shm::Arena arena;
  EXPECT_FALSE(share_segment(published_, {}, std::array<int, 2>{2, 5}, 5, segment, arena).ok());
  EXPECT_NE(std::string(last_failure_text()).find("does not know the job's secret"), std::string::npos);
  host.join();
}

TEST_F(ShareTest, AMissingRankIsNamed) {
  set_parameter("launch_join_timeout", kSecond / 5);
  start(2);
  start(6);
  finish();
  EXPECT_FALSE(joined_[0]);
  EXPECT_NE(words_[0].find("rank 5, 9 did not come"), std::string::npos) << words_[0];
  EXPECT_FALSE(joined_[2]);
  EXPECT_NE(words_[2].find("rank 2, which makes the shared memory"), std::string::npos) << words_[2];
}

}  // namespace
}  // namespace hearth::launch
