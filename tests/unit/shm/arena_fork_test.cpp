#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
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
  std::byte* memory = pair.first.grow(Arena::Half::blocks, kBytes, 4096);
  std::memset(memory, 1, kBytes);
  std::byte* seen = pair.second.memory_of(0, 0, kBytes);
  const int child = os::fork_process();
  if (child == 0) {
    if (!all_are(memory, 1)) os::end_process(1);
    std::memset(memory, 2, kBytes);
    if (pair.first.memory_of(1, 0, 1) != nullptr) os::end_process(2);
    // The child can still allocate from its slice.
    std::byte* more = pair.first.grow(Arena::Half::blocks, kBytes, 4096);
    if (more == nullptr) os::end_process(3);
    std::memset(more, 3, kBytes);
    if (!pair.first.give_back(more, kBytes) || !all_are(more, 0)) os::end_process(4);
    os::end_process(all_are(memory, 2) ? 0 : 5);
  }
  std::memset(memory, 4, kBytes);
  EXPECT_EQ(exit_code_of(child), 0);
  EXPECT_TRUE(all_are(memory, 4)) << "the child wrote into its parent's memory";
  EXPECT_TRUE(all_are(seen, 4));
  EXPECT_TRUE(all_are(pair.first.grow(Arena::Half::blocks, kBytes, 4096), 0));
}

// Dirty private memory of this process, as counted by the system.
long private_kib() {
  long kib = 0;
  char line[200];
  std::FILE* file = std::fopen("/proc/self/smaps_rollup", "r");
  while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr) {
    long value = 0;
    if (std::sscanf(line, "Private_Dirty: %ld", &value) == 1) kib += value;
  }
  if (file != nullptr) std::fclose(file);
  return kib;
}

TEST(ArenaFork, AHeapThatWasTakenBackIsCopiedOnWrite) {
  ArenaPair pair;
  watch_forks_for(pair.first);
  constexpr size_t kHeapBytes = size_t{64} << 20;
  std::byte* heap = pair.first.grow(Arena::Half::heap, kHeapBytes, 4096);
  std::memset(heap, 1, kHeapBytes);
  ASSERT_TRUE(pair.first.take_heap_back());
  EXPECT_EQ(pair.first.bytes_to_copy(), 0u);
  const int child = os::fork_process();
  if (child == 0) {
    if (private_kib() > 16 << 10) os::end_process(1);  // a copy would take 64 MiB
    if (!all_are(heap + kHeapBytes - kBytes, 1)) os::end_process(2);
    std::memset(heap, 2, kBytes);
    std::byte* more = pair.first.grow(Arena::Half::heap, kBytes, 4096);
    if (more == nullptr || !all_are(more, 0)) os::end_process(3);
    std::memset(more, 3, kBytes);
    if (!pair.first.give_back(heap, kBytes) || !all_are(heap, 0)) os::end_process(4);
    os::end_process(0);
  }
  EXPECT_EQ(exit_code_of(child), 0);
  EXPECT_TRUE(all_are(heap, 1));
}

TEST(ArenaFork, AnExposedHeapIsCopiedForTheChild) {
  ArenaPair pair;
  watch_forks_for(pair.first);
  std::byte* heap = pair.first.grow(Arena::Half::heap, kBytes, 4096);
  std::memset(heap, 1, kBytes);
  const Exposure exposure = pair.first.expose(heap, kBytes);
  EXPECT_FALSE(pair.first.take_heap_back());
  const int child = os::fork_process();
  if (child == 0) {
    const bool right = all_are(heap, 1);
    std::memset(heap, 2, kBytes);
    os::end_process(right ? 0 : 1);
  }
  EXPECT_EQ(exit_code_of(child), 0);
  EXPECT_TRUE(all_are(heap, 1));
  EXPECT_TRUE(all_are(pair.second.memory_of(0, exposure.offset(), kBytes), 1));
}

// Forks without handlers, as _Fork() and clone() do.
TEST(ArenaFork, AChildWithoutHandlersTouchesNothing) {
  ArenaPair pair;
  watch_forks_for(pair.first);
  std::byte* memory = pair.first.grow(Arena::Half::blocks, kBytes, 4096);
  std::memset(memory, 1, kBytes);
  std::byte* seen = pair.second.memory_of(0, 0, kBytes);
  for (std::byte* place : {memory, seen}) {
    const auto child = static_cast<int>(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
    if (child == 0) {
      ::signal(SIGSEGV, SIG_DFL);
      *static_cast<volatile std::byte*>(place) = std::byte{2};
      os::end_process(1);
    }
    EXPECT_EQ(exit_code_of(child), -SIGSEGV);
  }
  EXPECT_TRUE(all_are(memory, 1));
}

TEST(ArenaFork, AnUnusedWindowCanBeUsedInTheChild) {
  ArenaPair pair;
  watch_forks_for(pair.first);
  const int child = os::fork_process();
  if (child == 0) {
    std::byte* memory = pair.first.grow(Arena::Half::blocks, kBytes, 4096);
    if (memory == nullptr) os::end_process(1);
    std::memset(memory, 2, kBytes);
    os::end_process(0);
  }
  EXPECT_EQ(exit_code_of(child), 0);
  EXPECT_TRUE(all_are(pair.first.grow(Arena::Half::blocks, kBytes, 4096), 0));
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
  std::byte* memory = pair.first.grow(Arena::Half::blocks, kBytes, 4096);
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
  std::byte* memory = pair.first.grow(Arena::Half::blocks, kBytes, 4096);
  std::memset(memory, 1, kBytes);
  os::close_descriptor(pair.first.descriptor());  // without it the existing pages are unknown
  const int child = os::fork_process();
  if (child == 0) {
    if (pair.first.grow(Arena::Half::blocks, 4096, 4096) != nullptr) os::end_process(1);
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer installs a handler
    *memory = std::byte{2};
    os::end_process(2);
  }
  EXPECT_EQ(exit_code_of(child), -SIGSEGV);
  EXPECT_TRUE(all_are(memory, 1));
}

// Not a death test, because death tests fork: the child is created before any arena is watched.
TEST(ArenaFork, AStackInTheWindowEndsTheProcess) {
  const int child = os::fork_process();
  if (child == 0) {
    ArenaPair pair;
    watch_forks_for(pair.first);
    std::byte* stack = pair.first.grow(Arena::Half::blocks, kBytes, 4096);
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
  std::byte* memory = pair.first.grow(Arena::Half::blocks, kBytes, 4096);
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
