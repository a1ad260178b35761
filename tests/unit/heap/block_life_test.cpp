// Blocks of the slice, with private memory in place of the arena: contents, zeros, alignment, the bound on
// kept pages, threads, and forks.
#include "heap/shared_blocks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "base/atomic.h"
#include "base/os_memory.h"
#include "base/os_process.h"
#include "base/os_wait.h"

namespace hearth::heap {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kWindowBytes = 512 * kMiB;
constexpr size_t kBytesMin = size_t{64} << 10;

// Mock of the arena, with counters of its calls.
struct Memory {
  std::byte* begin = static_cast<std::byte*>(os::map_private(kWindowBytes));
  size_t page = os::page_bytes();
  size_t used = 0;
  size_t given_back = 0;  // atomic, like the next one
  size_t populated = 0;
  int giving_back = 0;  // threads inside give_back(); atomic
  int forks = 0;
  uint64_t exposures = 0;
  size_t idle_bytes_max = SIZE_MAX;
  int overlaps = 0;  // calls of before_fork() during a give_back()
  bool reachable = true;
  uint64_t time_ns = 5'000'000'000;
  ~Memory() { os::release(begin, kWindowBytes); }
};
Memory* memory = nullptr;

std::byte* grow(void*, size_t bytes, size_t alignment) {
  const auto address = reinterpret_cast<uintptr_t>(memory->begin);
  const size_t from = (address + memory->used + alignment - 1) / alignment * alignment - address;
  if (from + bytes > kWindowBytes) return nullptr;
  memory->used = from + bytes;
  return memory->begin + from;
}
bool give_back(void*, std::byte* from, size_t bytes) {
  atomic::fetch_add(memory->given_back, bytes);
  atomic::fetch_add(memory->giving_back, 1);
  const bool done = os::drop_private_pages(from, bytes);
  atomic::fetch_add(memory->giving_back, -1);
  return done;
}
void populate(void*, std::byte* from, size_t bytes) {
  atomic::fetch_add(memory->populated, bytes);
  for (size_t i = 0; i < bytes; i += memory->page) EXPECT_EQ(from[i], std::byte{0});
}
bool is_present(void*, const std::byte* from, size_t) {
  return os::is_page_present(from);
}
uint64_t exposures(void*) {
  return memory->exposures;
}
void before_fork(void*) {
  ++memory->forks;
  if (atomic::load_relaxed(memory->giving_back) != 0) ++memory->overlaps;
}
bool is_reachable(void*) {
  return memory->reachable;
}
uint64_t now_ns() {
  return memory->time_ns;
}

class BlockLife : public testing::Test {
 protected:
  void SetUp() override {
    memory = &memory_;
    ASSERT_NE(memory_.begin, nullptr);
    open(64 * kMiB);
  }
  void open(size_t kept_bytes_max) {
    blocks_ = std::make_unique<SharedBlocks>();
    memory_.used = 0;
    const Slice slice = {.context = nullptr,
                         .begin = memory_.begin,
                         .bytes = kWindowBytes,
                         .page_bytes = memory_.page,
                         .bytes_min = kBytesMin,
                         .bytes_max = SIZE_MAX,
                         .kept_bytes_max = kept_bytes_max,
                         .idle_bytes_max = memory_.idle_bytes_max,
                         .grow = grow,
                         .give_back = give_back,
                         .exposures = exposures,
                         .populate = populate,
                         .is_present = is_present,
                         .before_fork = before_fork,
                         .is_reachable = is_reachable,
                         .reserve = os::reserve,
                         .commit = os::commit,
                         .now_ns = now_ns};
    ASSERT_EQ(blocks_->open(slice), nullptr);
  }
  unsigned char* allocate(size_t bytes, size_t alignment = 1, bool zeroed = false) {
    return static_cast<unsigned char*>(blocks_->allocate(bytes, alignment, zeroed));
  }
  unsigned char* filled(size_t bytes, int value) {
    unsigned char* block = allocate(bytes);
    if (block != nullptr) std::memset(block, value, bytes);
    return block;
  }
  size_t resident_bytes() const {
    size_t bytes = 0;
    for (size_t i = 0; i < memory_.used; i += memory_.page)
      bytes += os::is_page_present(memory_.begin + i) ? memory_.page : 0;
    return bytes;
  }

  Memory memory_;
  std::unique_ptr<SharedBlocks> blocks_;
};

bool all_are(const unsigned char* block, size_t bytes, int value) {
  for (size_t i = 0; i < bytes; ++i) {
    if (block[i] != value) return false;
  }
  return true;
}

TEST_F(BlockLife, ClosedHeapWantsNothing) {
  SharedBlocks closed;
  EXPECT_FALSE(closed.wants(SIZE_MAX - 1));
  EXPECT_FALSE(closed.holds(memory_.begin));
  EXPECT_FALSE(blocks_->wants(kBytesMin - 1));
  EXPECT_TRUE(blocks_->wants(kBytesMin));
}

TEST_F(BlockLife, ZeroedBlocksAreZeroWhateverLayThere) {
  for (int round = 0; round < 20; ++round) {
    unsigned char* dirty = filled(300'000 + round * 5000, 0xAB);
    blocks_->free(dirty);
    const size_t bytes = 200'000 + round * 20'000;
    unsigned char* block = allocate(bytes, 1, true);
    ASSERT_TRUE(all_are(block, bytes, 0)) << "round " << round;
    blocks_->free(block);
  }
}

TEST_F(BlockLife, FreedBlocksAreUsedAgainWithoutASystemCall) {
  for (int round = 0; round < 50; ++round) {
    unsigned char* first = filled(8 * kMiB, 1);
    unsigned char* second = filled(8 * kMiB, 2);
    blocks_->free(first);
    blocks_->free(second);
  }
  EXPECT_EQ(memory_.given_back, 0u);
  EXPECT_LE(memory_.used, 40 * kMiB);
}

TEST_F(BlockLife, KeptPagesAreBoundedByTwiceTheLargestFreedBlock) {
  std::vector<unsigned char*> taken;
  for (int i = 0; i < 100; ++i) taken.push_back(filled(kMiB, i));
  for (unsigned char* block : taken) blocks_->free(block);
  EXPECT_LE(resident_bytes(), 2 * kMiB);
  EXPECT_GE(memory_.given_back, 98 * kMiB);
}

TEST_F(BlockLife, KeptPagesAreBoundedByTheParameter) {
  open(4 * kMiB);
  std::vector<unsigned char*> taken;
  for (int i = 0; i < 10; ++i) taken.push_back(filled(16 * kMiB, i));
  for (unsigned char* block : taken) blocks_->free(block);
  EXPECT_LE(resident_bytes(), 4 * kMiB);
  open(0);
  blocks_->free(filled(3 * kMiB, 1));
  EXPECT_EQ(resident_bytes(), 0u);
}

TEST_F(BlockLife, OnlyAsManyPagesArePopulatedAsWereTouchedAndFreedShortlyBefore) {
  blocks_->free(allocate(100 * kMiB));  // not touched
  blocks_->free(allocate(100 * kMiB));
  EXPECT_EQ(memory_.populated, 0u);
  blocks_->free(filled(100 * kMiB, 1));
  blocks_->free(filled(90 * kMiB, 1));
  EXPECT_EQ(memory_.populated, 90 * kMiB);
  memory_.time_ns += 10'000'000'000;
  blocks_->free(filled(90 * kMiB, 1));
  EXPECT_EQ(memory_.populated, 90 * kMiB);
}

TEST_F(BlockLife, AddressesAreAlignedAndDoNotOverlap) {
  for (size_t alignment = 16; alignment <= 8 * kMiB; alignment *= 2) {
    unsigned char* block = allocate(kBytesMin, alignment);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0u);
    EXPECT_TRUE(all_are(block, kBytesMin, 0)) << "two blocks overlap";
    std::memset(block, 1, kBytesMin);
  }
}

TEST_F(BlockLife, ResizingKeepsTheContents) {
  unsigned char* block = filled(kMiB, 7);
  ASSERT_TRUE(blocks_->resize(block, 40 * kMiB)) << "the last block grows with the slice";
  EXPECT_TRUE(all_are(block, kMiB, 7));
  EXPECT_GE(blocks_->usable_bytes(block), 40 * kMiB);
  std::memset(block, 8, 40 * kMiB);
  ASSERT_TRUE(blocks_->resize(block, kBytesMin));
  EXPECT_EQ(blocks_->usable_bytes(block), kBytesMin);
  EXPECT_TRUE(all_are(block, kBytesMin, 8));
  unsigned char* next = allocate(kMiB);
  EXPECT_EQ(next, block + kBytesMin);
  EXPECT_FALSE(blocks_->resize(block, kMiB)) << "the next block is in the way";
}

TEST_F(BlockLife, AWindowThatIsUsedUpAnswersNullAndRecovers) {
  std::vector<unsigned char*> taken;
  while (unsigned char* block = filled(16 * kMiB, 1)) taken.push_back(block);
  EXPECT_GE(taken.size(), 30u);
  EXPECT_EQ(allocate(kWindowBytes + 1), nullptr);
  for (unsigned char* block : taken) blocks_->free(block);
  // All pages, resident or empty, form one free range again.
  EXPECT_NE(allocate(kWindowBytes - 4 * kMiB), nullptr);
}

using BlockLifeDeathTest = BlockLife;
TEST_F(BlockLifeDeathTest, FreeingTwiceOrInTheMiddleEndsTheProcess) {
  unsigned char* block = filled(kMiB, 1);
  EXPECT_DEATH(blocks_->free(block + memory_.page), "free or realloc of an address");
  EXPECT_DEATH(blocks_->free(block + 8), "free or realloc of an address");
  blocks_->free(block);
  EXPECT_DEATH(blocks_->free(block), "free or realloc of an address");
}

// Each block is filled with its own value, which detects a block that two threads got.
TEST_F(BlockLife, ThreadsAllocateResizeAndFree) {
  open(2 * kMiB);
  int wrong = 0;  // atomic
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t, &wrong] {
      std::mt19937 random(static_cast<unsigned>(t));
      struct Held {
        unsigned char* block = nullptr;
        size_t bytes = 0;
        int value = 0;
      } held[8];
      for (int i = 0; i < 600; ++i) {
        Held& one = held[random() % 8];
        if (one.block != nullptr) {
          if (random() % 4 == 0 && blocks_->resize(one.block, one.bytes / 2 + 1))
            one.bytes = one.bytes / 2 + 1;
          atomic::fetch_add(wrong, int{!all_are(one.block, one.bytes, one.value)});
          blocks_->free(one.block);
        }
        one.bytes = kBytesMin + random() % 500'000;
        one.value = static_cast<int>(random() % 256);
        const bool zeroed = random() % 2 == 0;
        one.block = allocate(one.bytes, 1, zeroed);
        if (zeroed) atomic::fetch_add(wrong, int{!all_are(one.block, one.bytes, 0)});
        std::memset(one.block, one.value, one.bytes);
      }
      for (Held& one : held) blocks_->free(one.block);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

int exit_code_of(int child) {
  os::ProcessEnd end;
  while (!os::has_ended(child, end)) os::sleep_ns(100'000);
  os::reap(child);
  return end.by_signal ? -end.code : end.code;
}

// In the child the heap is closed until the child has its own slice. Blocks can be freed before, but no page
// is given back, because the pages are the parent's.
TEST_F(BlockLife, AChildOpensTheHeapWhenItHasItsOwnWindow) {
  open(0);
  for (const bool reachable : {true, false}) {
    memory_.reachable = reachable;
    unsigned char* block = filled(kMiB, 3);
    blocks_->lock_for_fork();
    const int child = os::fork_process();
    if (child == 0) {
      const size_t given_back = memory_.given_back;
      blocks_->unlock_in_child();
      if (blocks_->wants(kMiB)) os::end_process(1);
      blocks_->free(block);
      if (memory_.given_back != given_back) os::end_process(2);
      blocks_->reopen_in_child();
      if (blocks_->wants(kMiB) != reachable) os::end_process(3);
      if (reachable && !all_are(allocate(kMiB, 1, true), kMiB, 0)) os::end_process(4);
      os::end_process(0);
    }
    blocks_->unlock_in_parent();
    EXPECT_EQ(exit_code_of(child), 0);
    EXPECT_TRUE(blocks_->wants(kMiB));
    EXPECT_TRUE(all_are(block, kMiB, 3));
    blocks_->free(block);
  }
}

TEST_F(BlockLife, BlocksThatNoPeerReadsMakeTheHeapIdle) {
  memory_.idle_bytes_max = 16 * kMiB;
  open(64 * kMiB);
  const auto churn = [this](int count) {
    for (int i = 0; i < count && blocks_->wants(kMiB); ++i) blocks_->free(filled(kMiB, 1));
  };
  churn(16);
  EXPECT_TRUE(blocks_->wants(kMiB));
  unsigned char* kept = filled(kMiB, 2);
  EXPECT_FALSE(blocks_->wants(kMiB)) << "17 MiB without an exposure";
  EXPECT_TRUE(blocks_->holds(kept)) << "it can still be freed";
  EXPECT_TRUE(all_are(kept, kMiB, 2));
  blocks_->free(kept);
  blocks_->resume();
  EXPECT_TRUE(blocks_->wants(kMiB));
  // With an exposure now and then it stays open.
  for (int i = 0; i < 10; ++i) {
    churn(10);
    ++memory_.exposures;
  }
  EXPECT_TRUE(blocks_->wants(kMiB));
  churn(17);
  EXPECT_FALSE(blocks_->wants(kMiB));
}

// before_fork() changes how pages are given back, so no thread may be in give_back() at that time.
TEST_F(BlockLife, SharingStopsWhileNoPageIsGivenBack) {
  open(0);
  bool stop = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([this, &stop] {
      while (!atomic::load_relaxed(stop)) blocks_->free(filled(kMiB, 1));
    });
  }
  for (int i = 0; i < 300; ++i) blocks_->stop_sharing();
  atomic::store_relaxed(stop, true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory_.forks, 300);
  EXPECT_EQ(memory_.overlaps, 0);
}

}  // namespace
}  // namespace hearth::heap
