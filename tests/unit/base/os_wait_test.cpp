#include "base/os_wait.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/atomic.h"
#include "base/os_memory.h"
#include "base/os_process.h"

namespace hearth::os {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kLongNs = 20'000 * kMs;

class SharedWord : public testing::Test {
 protected:
  void SetUp() override {
    file_ = Descriptor(create_shared_memory("test", 4096));
    ASSERT_TRUE(file_.open());
    word_ = static_cast<uint32_t*>(map_shared(file_.number(), 4096));
    ASSERT_NE(word_, nullptr);
  }
  void TearDown() override { release(word_, 4096); }

  Descriptor file_;
  uint32_t* word_ = nullptr;
};

TEST_F(SharedWord, TimesOut) {
  const uint64_t start = now_ns();
  futex_wait(*word_, 0, 20 * kMs);
  EXPECT_GE(now_ns() - start, 15 * kMs);
}

TEST_F(SharedWord, DoesNotSleepOnAnotherValue) {
  const uint64_t start = now_ns();
  futex_wait(*word_, 1, kLongNs);
  EXPECT_LT(now_ns() - start, kLongNs / 2);
}

// The sleeper is another process that maps the file at another address: the futex must not be private.
TEST_F(SharedWord, WakesAnotherProcess) {
  const int pid = fork_process();
  if (pid == 0) {
    auto* mine = static_cast<uint32_t*>(map_shared(file_.number(), 4096));
    if (mine == nullptr || mine == word_) end_process(1);
    const uint64_t start = now_ns();
    while (atomic::load_acquire(*mine) == 0) futex_wait(*mine, 0, kLongNs);
    end_process(now_ns() - start < kLongNs / 2 ? 0 : 2);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  atomic::store_release(*word_, 1u);
  futex_wake(*word_);
  ProcessEnd end;
  while (!has_ended(pid, end)) yield_processor();
  EXPECT_EQ(end.code, 0);
  reap(pid);
}

// A barrier of two threads.
void meet(uint32_t& arrived, uint32_t round) {
  atomic::fetch_add(arrived, 1u);
  for (int spins = 0; atomic::load_acquire(arrived) < 2 * round; ++spins) {
    if (spins > 2000) yield_processor();
  }
}

// Dekker's pattern with a compiler fence in one thread and membarrier() in the other: at least one of the two
// sees the other's store. Without membarrier() both miss it in many of the rounds in which the threads run in
// parallel.
TEST(Membarrier, IsAFenceForTheOtherThread) {
  if (!membarrier_register()) GTEST_SKIP() << "no membarrier here";
  constexpr uint32_t kRounds = 30'000;
  struct alignas(64) Line {
    uint32_t word = 0;
  };
  Line mine;
  Line other;
  Line other_saw;
  Line before;
  Line after;
  std::thread light([&] {
    for (uint32_t round = 1; round <= kRounds; ++round) {
      meet(before.word, round);
      for (uint32_t pause = 0; pause < round % 32; ++pause) atomic::cpu_relax();
      atomic::store_relaxed(other.word, round);
      atomic::fence_compiler();
      other_saw.word = atomic::load_relaxed(mine.word) == round ? 1 : 0;
      meet(after.word, round);
    }
  });
  int both_missed = 0;
  for (uint32_t round = 1; round <= kRounds; ++round) {
    meet(before.word, round);
    for (uint32_t pause = 0; pause < round / 32 % 32; ++pause) atomic::cpu_relax();
    atomic::store_relaxed(mine.word, round);
    atomic::fence_full();
    membarrier();
    const bool saw = atomic::load_relaxed(other.word) == round;
    meet(after.word, round);
    if (!saw && other_saw.word == 0) ++both_missed;
  }
  light.join();
  EXPECT_EQ(both_missed, 0);
}

TEST(Clock, GoesForward) {
  const uint64_t before = now_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_GE(now_ns() - before, 1 * kMs);
}

}  // namespace
}  // namespace hearth::os
