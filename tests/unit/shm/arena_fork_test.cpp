#include <pthread.h>

#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

#include "arena_pair.h"
#include "base/atomic.h"
#include "base/os_memory.h"
#include "base/os_process.h"
#include "base/os_wait.h"
#include "shm/arena.h"
#include "shm/arena_blocks.h"

namespace hearth::shm {
namespace {

constexpr size_t kBytes = size_t{1} << 20;

int exit_code_of(int child) {
  os::ProcessEnd end;
  while (!os::has_ended(child, end)) os::sleep_ns(100'000);
  os::reap(child);
  return end.by_signal ? -end.code : end.code;
}

bool all_are(const std::byte* memory, int value) {
  for (size_t i = 0; i < kBytes; ++i) {
    if (memory[i] != static_cast<std::byte>(value)) return false;
  }
  return true;
}

TEST(ArenaFork, TheChildHasACopyOfItsOwn) {
  ArenaPair pair;
  watch_forks_for(pair.first);
  watch_forks_for(pair.second);
  std::byte* memory = pair.first.grow(kBytes, 4096);
  std::memset(memory, 1, kBytes);
  std::byte* seen = pair.second.memory_of(0, 0, kBytes);
  const int child = os::fork_process();
  if (child == 0) {
    if (!all_are(memory, 1)) os::end_process(1);
    std::memset(memory, 2, kBytes);
    if (pair.first.memory_of(1, 0, 1) != nullptr) os::end_process(2);
    // It may go on using its window.
    std::byte* more = pair.first.grow(kBytes, 4096);
    if (more == nullptr) os::end_process(3);
    std::memset(more, 3, kBytes);
    if (!pair.first.give_back(more, kBytes) || !all_are(more, 0)) os::end_process(4);
    os::end_process(all_are(memory, 2) ? 0 : 5);
  }
  std::memset(memory, 4, kBytes);
  EXPECT_EQ(exit_code_of(child), 0);
  EXPECT_TRUE(all_are(memory, 4)) << "the child wrote into its parent's memory";
  EXPECT_TRUE(all_are(seen, 4));
  EXPECT_TRUE(all_are(pair.first.grow(kBytes, 4096), 0));
}

TEST(ArenaFork, AnUnusedWindowCanBeUsedInTheChild) {
  ArenaPair pair;
  watch_forks_for(pair.first);
  const int child = os::fork_process();
  if (child == 0) {
    std::byte* memory = pair.first.grow(kBytes, 4096);
    if (memory == nullptr) os::end_process(1);
    std::memset(memory, 2, kBytes);
    os::end_process(0);
  }
  EXPECT_EQ(exit_code_of(child), 0);
  EXPECT_TRUE(all_are(pair.first.grow(kBytes, 4096), 0));
}

TEST(ArenaFork, BlocksLiveOnInTheChild) {
  ArenaPair pair;
  watch_forks_for(pair.first);
  ArenaBlocks blocks;
  std::byte* block = blocks.allocate(pair.first, kBytes, 64);
  std::memset(block, 1, kBytes);
  const int child = os::fork_process();
  if (child == 0) {
    std::byte* other = blocks.allocate(pair.first, kBytes, 64);
    if (other == nullptr || !all_are(block, 1)) os::end_process(1);
    std::memset(other, 2, kBytes);
    blocks.free(pair.first, block, kBytes);
    os::end_process(0);
  }
  EXPECT_EQ(exit_code_of(child), 0);
  EXPECT_TRUE(all_are(block, 1));
  blocks.free(pair.first, block, kBytes);
}

TEST(ArenaFork, AChildOfAChildIsNothingSpecial) {
  ArenaPair pair;
  watch_forks_for(pair.first);
  std::byte* memory = pair.first.grow(kBytes, 4096);
  std::memset(memory, 1, kBytes);
  const int child = os::fork_process();
  if (child == 0) {
    std::memset(memory, 2, kBytes);
    const int grandchild = os::fork_process();
    if (grandchild == 0) {
      const bool right = all_are(memory, 2);
      std::memset(memory, 3, kBytes);
      os::end_process(right ? 0 : 1);
    }
    os::end_process(exit_code_of(grandchild) == 0 && all_are(memory, 2) ? 0 : 1);
  }
  EXPECT_EQ(exit_code_of(child), 0);
  EXPECT_TRUE(all_are(memory, 1));
}

TEST(ArenaFork, WithoutACopyTheChildTouchesNothing) {
  ArenaPair pair;
  watch_forks_for(pair.first);
  std::byte* memory = pair.first.grow(kBytes, 4096);
  std::memset(memory, 1, kBytes);
  os::close_descriptor(pair.first.descriptor());  // without it nobody knows which pages there are
  const int child = os::fork_process();
  if (child == 0) {
    if (pair.first.grow(4096, 4096) != nullptr) os::end_process(1);
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer has a handler
    *memory = std::byte{2};
    os::end_process(2);
  }
  EXPECT_EQ(exit_code_of(child), -SIGSEGV);
  EXPECT_TRUE(all_are(memory, 1));
}

// Death tests fork themselves: this child is made before anything is watched.
TEST(ArenaFork, AStackInTheWindowEndsTheProcess) {
  const int child = os::fork_process();
  if (child == 0) {
    ArenaPair pair;
    watch_forks_for(pair.first);
    std::byte* stack = pair.first.grow(kBytes, 4096);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, kBytes);
    std::signal(SIGABRT, [](int) { os::end_process(77); });
    pthread_t thread;
    const auto fork_there = [](void*) -> void* {
      os::fork_process();
      return nullptr;
    };
    if (pthread_create(&thread, &attributes, fork_there, nullptr) != 0) os::end_process(1);
    pthread_join(thread, nullptr);
    os::end_process(2);
  }
  EXPECT_EQ(exit_code_of(child), 77);
}

TEST(ArenaFork, ThreadsMayForkAtTheSameTime) {
  ArenaPair pair;
  watch_forks_for(pair.first);
  std::byte* memory = pair.first.grow(kBytes, 4096);
  std::memset(memory, 1, kBytes);
  std::vector<std::thread> threads;
  int wrong = 0;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([memory, &wrong] {
      for (int i = 0; i < 10; ++i) {
        const int child = os::fork_process();
        if (child == 0) {
          const bool right = all_are(memory, 1);
          std::memset(memory, 2, kBytes);
          os::end_process(right ? 0 : 1);
        }
        if (exit_code_of(child) != 0) atomic::fetch_add(wrong, 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(all_are(memory, 1));
}

}  // namespace
}  // namespace hearth::shm
