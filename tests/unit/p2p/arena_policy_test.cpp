#include "p2p/arena_policy.h"

#include <gtest/gtest.h>

#include <functional>

namespace hearth::p2p {
namespace {

constexpr uint64_t kBytes = 64 << 10;

struct Costs {
  uint64_t arena_ns;
  uint64_t bounce_ns;
};

constexpr Costs kRewritten = {7'900, 3'900};
constexpr Costs kUnchanged = {1'600, 2'900};

/// A program that sends windows of messages, each window ended by a wait for all of them.
class Program {
 public:
  explicit Program(int window = 1) : window_(window) { policy_.begin_part(now_ns_); }

  /// The number of messages that took the slower way.
  int send(int messages, Costs costs, uint64_t own_ns = 0) {
    const bool best = costs.arena_ns < costs.bounce_ns;
    int slower = 0;
    for (int i = 0; i < messages; ++i) {
      if (policy_.part_ends(on_their_way_ == 0)) policy_.begin_part(now_ns_);
      const bool arena = policy_.chooses_arena();
      policy_.sent(kBytes);
      slower += arena != best;
      cost_ns_ += (arena ? costs.arena_ns : costs.bounce_ns) + own_ns + disturbance_();
      if (++on_their_way_ < window_) continue;
      now_ns_ += cost_ns_;
      cost_ns_ = 0;
      on_their_way_ = 0;
    }
    return slower;
  }
  void disturb(std::function<uint64_t()> disturbance) { disturbance_ = std::move(disturbance); }
  bool chooses_arena() const { return policy_.chooses_arena(); }

 private:
  ArenaPolicy policy_;
  const int window_;
  int on_their_way_ = 0;
  uint64_t now_ns_ = 1'000'000;
  uint64_t cost_ns_ = 0;
  std::function<uint64_t()> disturbance_ = [] { return 0; };
};

TEST(ArenaPolicy, FindsTheFasterWayWithin200Messages) {
  Program unchanged;
  unchanged.send(200, kUnchanged);
  EXPECT_EQ(unchanged.send(1000, kUnchanged), 0);
  Program rewritten;
  rewritten.send(200, kRewritten);
  EXPECT_EQ(rewritten.send(1000, kRewritten), 0);
}

TEST(ArenaPolicy, TriesTheSlowerWayWithOneMessageOf100) {
  for (const Costs& costs : {kUnchanged, kRewritten}) {
    Program program;
    program.send(200, costs);
    const int slower = program.send(100'000, costs);
    EXPECT_LE(slower, 1000);
    EXPECT_GE(slower, 900) << "a change that costs the same has to be noticed";
  }
}

TEST(ArenaPolicy, FollowsAProgramThatBeginsToWriteItsBuffer) {
  Program program;
  program.send(2000, kUnchanged);
  ASSERT_TRUE(program.chooses_arena());
  program.send(200, kRewritten);
  EXPECT_EQ(program.send(200, kRewritten), 0);
  program.send(600, kUnchanged);
  EXPECT_EQ(program.send(200, kUnchanged), 0);
}

TEST(ArenaPolicy, ComparesWholeWindows) {
  for (const int window : {4, 32, 64}) {
    Program program(window);
    program.send(25 * window + 200, kUnchanged);
    EXPECT_EQ(program.send(1000, kUnchanged), 0) << "windows of " << window;
  }
}

TEST(ArenaPolicy, KeepsTheWayIfTheProgramItselfTakesNearlyAllTheTime) {
  Program program;
  program.send(200, kUnchanged, 100'000);
  EXPECT_FALSE(program.chooses_arena());
}

TEST(ArenaPolicy, OneDisturbedMessageInAPartDoesNotMatter) {
  Program program;
  int message = 0;
  program.disturb([&message]() -> uint64_t { return ++message % 32 == 5 ? 300'000 : 0; });
  program.send(200, kUnchanged);
  EXPECT_TRUE(program.chooses_arena());
}

TEST(ArenaPolicy, ADisturbedEpochDecidesNothing) {
  Program program;
  int message = 0;
  // The first epoch of the current way seems slow.
  program.disturb([&message]() -> uint64_t { return ++message <= 64 ? 20'000 : 0; });
  program.send(200, kRewritten);
  EXPECT_FALSE(program.chooses_arena());
}

TEST(ArenaPolicy, AProgramThatKeepsChangingIsNotComparedAllTheTime) {
  Program program;
  int slower = 0;
  for (int phase = 0; phase < 100; ++phase) {
    slower += program.send(500, kRewritten);
    slower += program.send(500, kRewritten, 10'000);
  }
  EXPECT_LE(slower, 100 * 1000 / 50);
}

}  // namespace
}  // namespace hearth::p2p
