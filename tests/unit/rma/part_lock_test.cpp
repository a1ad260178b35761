// The lock of a rank's part of a window: exclusive or shared, with waiters counted, with threads as
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
  EXPECT_TRUE(lock.try_lock(false, 0));
  EXPECT_TRUE(lock.try_lock(false, 0));
  EXPECT_FALSE(lock.try_lock(true, 0));
  EXPECT_FALSE(lock.unlock(false));
  EXPECT_FALSE(lock.try_lock(true, 0)) << "one of two is still there";
  EXPECT_FALSE(lock.unlock(false));
  EXPECT_TRUE(lock.try_lock(true, 0));
  EXPECT_FALSE(lock.try_lock(false, 0));
  EXPECT_FALSE(lock.try_lock(true, 0));
  EXPECT_FALSE(lock.unlock(true));
  EXPECT_TRUE(lock.try_lock(true, 0));
  EXPECT_FALSE(lock.unlock(true));
}

TEST(PartLock, AWaitingExclusiveLockBlocksNewSharedOnes) {
  shm::WindowBoard board = {};
  PartLock lock(board);
  ASSERT_TRUE(lock.try_lock(false, 0));
  EXPECT_FALSE(lock.try_lock(true, 0));
  EXPECT_FALSE(lock.try_lock(false, 0)) << "it would keep the other one out";
  static_cast<void>(lock.unlock(false));
  EXPECT_FALSE(lock.try_lock(false, 0)) << "it is not its turn";
  EXPECT_TRUE(lock.try_lock(true, 0));
  static_cast<void>(lock.unlock(true));
  EXPECT_TRUE(lock.try_lock(false, 0)) << "the wish is granted";
  static_cast<void>(lock.unlock(false));
  EXPECT_EQ(board.lock, 0u);
}

TEST(PartLock, AReleaseReportsWaitingLocks) {
  shm::WindowBoard board = {};
  PartLock lock(board);
  ASSERT_TRUE(lock.try_lock(true, 0));
  lock.begin_wait();
  EXPECT_TRUE(lock.unlock(true));
  ASSERT_TRUE(lock.try_lock(false, 0));
  lock.end_wait();
  EXPECT_FALSE(lock.unlock(false));
  EXPECT_EQ(board.waiting, 0u);
}

TEST(PartLock, NamesItsHolders) {
  shm::WindowBoard board = {};
  PartLock lock(board);
  EXPECT_EQ(lock.holders().count, 0u);
  ASSERT_TRUE(lock.try_lock(true, 5));
  EXPECT_FALSE(lock.try_lock(true, 6)) << "it only announces its wish";
  EXPECT_EQ(lock.holders().count, 1u);
  EXPECT_EQ(lock.holders().exclusive, 5);
  static_cast<void>(lock.unlock(true));
  EXPECT_EQ(lock.holders().count, 0u);
  ASSERT_TRUE(lock.try_lock(true, 6));
  EXPECT_EQ(lock.holders().exclusive, 6);
  static_cast<void>(lock.unlock(true));
  ASSERT_TRUE(lock.try_lock(false, 7));
  ASSERT_TRUE(lock.try_lock(false, 8));
  EXPECT_FALSE(lock.try_lock(true, 9));
  EXPECT_EQ(lock.holders().count, 2u);
  EXPECT_LT(lock.holders().exclusive, 0);
  static_cast<void>(lock.unlock(false));
  static_cast<void>(lock.unlock(false));
  EXPECT_TRUE(lock.try_lock(true, 9));
  EXPECT_EQ(lock.holders().exclusive, 9);
}

TEST(PartLock, ABoardListsTheSharedHoldsOfItsProcess) {
  shm::WindowBoard board = {};
  SharedHolds holds(board);
  holds.set(3, true);
  holds.set(64, true);
  holds.set(100000, true);
  EXPECT_TRUE(holds.has(3));
  EXPECT_TRUE(holds.has(64));
  EXPECT_FALSE(holds.has(0));
  EXPECT_FALSE(holds.has(100000)) << "beyond the bits";
  holds.set(3, false);
  EXPECT_FALSE(holds.has(3));
  EXPECT_TRUE(holds.has(64));
}

// A counter that only an exclusive holder changes, and that stays unchanged while shared holders read it.
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
        while (!lock.try_lock(alone, 0)) os::yield_processor();
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
