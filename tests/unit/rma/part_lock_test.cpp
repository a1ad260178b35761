// The lock of a window's part: alone or together, with those who wait counted, from threads as from
// processes.
#include "rma/part_lock.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/os_wait.h"

namespace hearth::rma {
namespace {

TEST(PartLock, IsForOneAloneOrForSeveral) {
  shm::WindowBoard board = {};
  PartLock lock(board);
  EXPECT_TRUE(lock.try_lock(false));
  EXPECT_TRUE(lock.try_lock(false));
  EXPECT_FALSE(lock.try_lock(true));
  EXPECT_FALSE(lock.unlock(false));
  EXPECT_FALSE(lock.try_lock(true)) << "one of two is still there";
  EXPECT_FALSE(lock.unlock(false));
  EXPECT_TRUE(lock.try_lock(true));
  EXPECT_FALSE(lock.try_lock(false));
  EXPECT_FALSE(lock.try_lock(true));
  EXPECT_FALSE(lock.unlock(true));
  EXPECT_TRUE(lock.try_lock(true));
  EXPECT_FALSE(lock.unlock(true));
}

TEST(PartLock, NobodyJoinsOthersOnceSomebodyWantsItAlone) {
  shm::WindowBoard board = {};
  PartLock lock(board);
  ASSERT_TRUE(lock.try_lock(false));
  EXPECT_FALSE(lock.try_lock(true));
  EXPECT_FALSE(lock.try_lock(false)) << "it would keep the other one out";
  static_cast<void>(lock.unlock(false));
  EXPECT_FALSE(lock.try_lock(false)) << "it is not its turn";
  EXPECT_TRUE(lock.try_lock(true));
  static_cast<void>(lock.unlock(true));
  EXPECT_TRUE(lock.try_lock(false)) << "the wish is granted";
  static_cast<void>(lock.unlock(false));
  EXPECT_EQ(board.lock, 0u);
}

TEST(PartLock, WhoeverGivesItBackKnowsOfThoseWhoWait) {
  shm::WindowBoard board = {};
  PartLock lock(board);
  ASSERT_TRUE(lock.try_lock(true));
  lock.begin_wait();
  EXPECT_TRUE(lock.unlock(true));
  ASSERT_TRUE(lock.try_lock(false));
  lock.end_wait();
  EXPECT_FALSE(lock.unlock(false));
  EXPECT_EQ(board.waiting, 0u);
}

// A counter that only its holder changes, and that does not change while several look at it.
TEST(PartLock, KeepsThreadsApart) {
  constexpr int kThreads = 4, kRounds = 3000;
  shm::WindowBoard board = {};
  int64_t counter = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      PartLock lock(board);
      for (int round = 0; round < kRounds; ++round) {
        const bool alone = (round + thread) % 3 == 0;
        while (!lock.try_lock(alone)) os::yield_processor();
        const int64_t seen = counter;
        if (alone) counter = seen + 1;
        EXPECT_EQ(counter, alone ? seen + 1 : seen);
        static_cast<void>(lock.unlock(alone));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, int64_t{kThreads} * kRounds / 3);
  EXPECT_EQ(board.lock, 0u);
}

}  // namespace
}  // namespace hearth::rma
