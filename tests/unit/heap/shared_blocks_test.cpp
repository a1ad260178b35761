// Blocks of the shared heap over a slice of ordinary memory, whose calls are counted.
#include "heap/shared_blocks.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "base/atomic.h"

namespace hearth::heap {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kWindowBytes = 512 * kMiB;

void* map(size_t bytes) {
  void* memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

/// A slice; give_back() empties pages as the arena's does.
class FakeWindow {
 public:
  FakeWindow() : begin_(static_cast<std::byte*>(map(kWindowBytes))) {
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    const Slice slice = {
        .context = this,
        .begin = begin_,
        .bytes = kWindowBytes,
        .page_bytes = page,
        .bytes_min = 64 << 10,
        .bytes_max = SIZE_MAX,
        .kept_bytes_max = size_t{64} << 20,
        .idle_bytes_max = SIZE_MAX,
        .grow =
            [](void* context, size_t bytes, size_t alignment) {
              auto& self = *static_cast<FakeWindow*>(context);
              self.next_ = (self.next_ + alignment - 1) / alignment * alignment;
              if (self.next_ > kWindowBytes - bytes || bytes > kWindowBytes)
                return static_cast<std::byte*>(nullptr);
              return self.begin_ + std::exchange(self.next_, self.next_ + bytes);
            },
        .give_back =
            [](void* context, std::byte* from, size_t bytes) {
              atomic::fetch_add(static_cast<FakeWindow*>(context)->given_back, bytes);
              return ::madvise(from, bytes, MADV_DONTNEED) == 0;
            },
        .exposures = [](void*) { return uint64_t{0}; },
        .populate =
            [](void* context, std::byte*, size_t bytes) {
              atomic::fetch_add(static_cast<FakeWindow*>(context)->populated, bytes);
            },
        .is_present = [](void* context, const std::byte*,
                         size_t) { return static_cast<FakeWindow*>(context)->present; },
        .before_fork = [](void*) {},
        .is_reachable = [](void*) { return true; },
        .reserve = map,
        .commit = [](void*, size_t) { return true; },
        .now_ns = [] { return clock_ns; },
    };
    EXPECT_EQ(blocks.open(slice), nullptr);
    EXPECT_NE(blocks.open(slice), nullptr) << "it was opened twice";
  }
  ~FakeWindow() { ::munmap(begin_, kWindowBytes); }

  std::byte* allocate(size_t bytes, size_t alignment = 1, bool zeroed = false) {
    return static_cast<std::byte*>(blocks.allocate(bytes, alignment, zeroed));
  }

  SharedBlocks blocks;
  // Added to atomically, read while no thread runs.
  size_t given_back = 0;
  size_t populated = 0;
  bool present = true;
  static inline uint64_t clock_ns = 1;

 private:
  std::byte* begin_;
  size_t next_ = 0;
};

bool is_filled(const std::byte* block, size_t bytes, std::byte value) {
  return block[0] == value && std::memcmp(block, block + 1, bytes - 1) == 0;
}

TEST(SharedBlocks, random_use_keeps_contents_apart) {
  struct Block {
    std::byte* memory;
    size_t bytes;
    std::byte value;
  };
  FakeWindow slice;
  std::mt19937 random(3);
  std::vector<Block> kept;
  for (int step = 0; step < 1000; ++step) {
    if (kept.size() > 20 || (!kept.empty() && random() % 2 == 0)) {
      const size_t at = random() % kept.size();
      Block& block = kept[at];
      ASSERT_TRUE(slice.blocks.holds(block.memory));
      ASSERT_TRUE(is_filled(block.memory, block.bytes, block.value));
      const size_t bytes = (64 << 10) + random() % kMiB;
      if (random() % 3 == 0 && slice.blocks.resize(block.memory, bytes)) {
        ASSERT_TRUE(is_filled(block.memory, std::min(bytes, block.bytes), block.value));
        std::memset(block.memory, static_cast<int>(block.value), block.bytes = bytes);
        continue;
      }
      slice.blocks.free(block.memory);
      kept.erase(kept.begin() + static_cast<ptrdiff_t>(at));
      continue;
    }
    const size_t bytes = (64 << 10) + random() % (random() % 10 == 0 ? 6 * kMiB : kMiB / 2);
    const size_t alignment = size_t{1} << (random() % 4 == 0 ? random() % 22 : 0);
    const bool zeroed = random() % 3 == 0;
    std::byte* memory = slice.allocate(bytes, alignment, zeroed);
    ASSERT_NE(memory, nullptr);
    ASSERT_EQ(reinterpret_cast<uintptr_t>(memory) % alignment, 0u);
    ASSERT_GE(slice.blocks.usable_bytes(memory), bytes);
    if (zeroed) ASSERT_TRUE(is_filled(memory, bytes, std::byte{0}));
    const auto value = static_cast<std::byte>(1 + step % 255);
    std::memset(memory, static_cast<int>(value), bytes);
    kept.push_back({memory, bytes, value});
  }
  for (const Block& block : kept) slice.blocks.free(block.memory);
}

TEST(SharedBlocks, free_pages_stay_up_to_twice_the_largest_block) {
  FakeWindow slice;
  std::vector<std::byte*> blocks;
  for (int i = 0; i < 6; ++i) blocks.push_back(slice.allocate(8 * kMiB));
  slice.blocks.free(blocks[0]);
  slice.blocks.free(blocks[1]);
  EXPECT_EQ(slice.given_back, 0u);
  for (int i = 2; i < 6; ++i) slice.blocks.free(blocks[static_cast<size_t>(i)]);
  EXPECT_EQ(slice.given_back, 4 * 8 * kMiB);
}

TEST(SharedBlocks, long_blocks_go_back_at_once) {
  FakeWindow slice;
  slice.blocks.free(slice.allocate(64 * kMiB));
  EXPECT_GE(slice.given_back, 63 * kMiB);
}

TEST(SharedBlocks, new_pages_are_populated_only_where_others_were_touched_before) {
  FakeWindow slice;
  std::byte* untouched = slice.allocate(64 * kMiB);
  EXPECT_EQ(slice.populated, 0u);
  slice.present = false;
  slice.blocks.free(untouched);
  untouched = slice.allocate(64 * kMiB);
  EXPECT_EQ(slice.populated, 0u) << "the block was not touched";
  slice.present = true;
  slice.blocks.free(untouched);
  std::byte* again = slice.allocate(64 * kMiB);
  EXPECT_GE(slice.populated, 63 * kMiB);
  const size_t before = slice.populated;
  std::byte* more = slice.allocate(64 * kMiB);
  EXPECT_EQ(slice.populated, before) << "the credit was spent";
  slice.blocks.free(again);
  FakeWindow::clock_ns += 2'000'000'000;
  std::byte* late = slice.allocate(64 * kMiB);
  EXPECT_EQ(slice.populated, before) << "the credit was old";
  slice.blocks.free(more);
  slice.blocks.free(late);
}

TEST(SharedBlocks, a_window_that_is_used_up_gives_null) {
  FakeWindow slice;
  std::byte* most = slice.allocate(500 * kMiB);
  ASSERT_NE(most, nullptr);
  EXPECT_EQ(slice.allocate(100 * kMiB), nullptr);
  EXPECT_EQ(slice.allocate(SIZE_MAX / 2), nullptr);
  slice.blocks.free(most);
  EXPECT_NE(slice.allocate(400 * kMiB), nullptr);
}

TEST(SharedBlocks, threads_free_what_others_allocated) {
  constexpr int kThreads = 4, kPlaces = 32;
  FakeWindow slice;
  std::byte* places[kPlaces] = {};
  uint32_t wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int step = 0; step < 500; ++step) {
        const size_t place = random() % kPlaces;
        const size_t bytes = (64 << 10) + random() % (256 << 10);
        std::byte* memory = slice.allocate(bytes);
        if (memory == nullptr) return atomic::store_relaxed(wrong, 1u);
        memory[0] = memory[bytes - 1] = static_cast<std::byte>(place);
        std::byte* former = atomic::exchange(places[place], memory);
        if (former == nullptr) continue;
        if (former[0] != static_cast<std::byte>(place)) atomic::store_relaxed(wrong, 1u);
        slice.blocks.free(former);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
}

TEST(SharedBlocksDeathTest, a_second_free_ends_the_process) {
  FakeWindow slice;
  std::byte* block = slice.allocate(kMiB);
  slice.blocks.free(block);
  EXPECT_DEATH(slice.blocks.free(block), "free or realloc of an address");
}

}  // namespace
}  // namespace hearth::heap
