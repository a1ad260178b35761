#include "shm/arena.h"

#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "arena_pair.h"
#include "base/atomic.h"
#include "base/os_memory.h"

namespace hearth::shm {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

// Number of pages of a range that have memory.
size_t pages_in(const Arena& arena, uint64_t first, uint64_t bytes) {
  size_t pages = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  for (uint64_t from = first; os::next_data(arena.descriptor(), from, begin, end); from = end) {
    if (begin >= first + bytes) break;
    pages += (std::min(end, first + bytes) - begin) / os::page_bytes();
  }
  return pages;
}

TEST(Arena, SlicesFollowTheMemory) {
  EXPECT_EQ(Arena::plan_slice_bytes(2, 24 * kGiB, UINT64_MAX, UINT64_MAX), 64 * kGiB);
  EXPECT_EQ(Arena::plan_slice_bytes(2, kGiB / 8, UINT64_MAX, UINT64_MAX), kGiB);
  // All slices share the 47 bits.
  EXPECT_EQ(Arena::plan_slice_bytes(4096, 1024 * kGiB, UINT64_MAX, UINT64_MAX), 8 * kGiB);
  // If the address space is limited, the program keeps most of it.
  EXPECT_EQ(Arena::plan_slice_bytes(2, 24 * kGiB, 16 * kGiB, UINT64_MAX), 2 * kGiB);
  EXPECT_EQ(Arena::plan_slice_bytes(3, 24 * kGiB, UINT64_MAX, 10 * kGiB), 2 * kGiB);
  EXPECT_EQ(Arena::plan_slice_bytes(64, 24 * kGiB, 8 * kGiB, UINT64_MAX), 0u);
}

TEST(Arena, OneRanksMemoryIsReachedByTheOther) {
  ArenaPair pair;
  std::byte* mine = pair.first.grow(Arena::Half::blocks, 3 * os::page_bytes(), os::page_bytes());
  ASSERT_NE(mine, nullptr);
  std::memset(mine, 7, 3 * os::page_bytes());
  const uint64_t offset = pair.first.offset_of(mine + 5000);
  std::byte* seen = pair.second.memory_of(0, offset, 100);
  ASSERT_NE(seen, nullptr);
  EXPECT_NE(seen, mine + 5000);
  EXPECT_EQ(*seen, std::byte{7});
  *seen = std::byte{9};
  EXPECT_EQ(mine[5000], std::byte{9});
  EXPECT_EQ(pair.first.memory_of(0, offset, 100), mine + 5000) << "the own window is mapped once";
}

TEST(Arena, HoldsTheOwnWindowOnly) {
  ArenaPair pair;
  std::byte* mine = pair.first.grow(Arena::Half::blocks, os::page_bytes(), os::page_bytes());
  const size_t slice = pair.first.slice_bytes();
  EXPECT_TRUE(pair.first.holds(mine, slice - pair.first.offset_of(mine)));
  EXPECT_FALSE(pair.first.holds(mine, slice - pair.first.offset_of(mine) + 1));
  EXPECT_FALSE(pair.first.holds(mine, SIZE_MAX));
  EXPECT_FALSE(pair.first.holds(mine - pair.first.offset_of(mine) - 1, 1));
  EXPECT_FALSE(pair.second.holds(mine, 1));
  EXPECT_FALSE(pair.first.holds(&pair, 1));
  EXPECT_FALSE(pair.first.holds(nullptr, 1));
  const Arena none;
  EXPECT_FALSE(none.usable());
  EXPECT_FALSE(none.holds(mine, 1));
  EXPECT_FALSE(none.holds(nullptr, 0));
  EXPECT_NE(none.reason(), "");
}

TEST(Arena, RefusesWhatLiesOutsideAWindow) {
  ArenaPair pair;
  const size_t slice = pair.first.slice_bytes();
  EXPECT_NE(pair.second.memory_of(0, slice - 1, 1), nullptr);
  EXPECT_EQ(pair.second.memory_of(0, slice / 2 - 1, 2), nullptr) << "no block lies in both halves";
  EXPECT_EQ(pair.second.memory_of(0, slice - 1, 2), nullptr);
  EXPECT_EQ(pair.second.memory_of(0, slice + 1, 0), nullptr);
  EXPECT_EQ(pair.second.memory_of(0, UINT64_MAX, 1), nullptr);
  EXPECT_EQ(pair.second.memory_of(0, 1, SIZE_MAX), nullptr);
}

TEST(Arena, UnusedAddressesAreNotPopulated) {
  ArenaPair pair;
  constexpr size_t kBytes = size_t{1} << 20;
  ASSERT_NE(pair.first.grow(Arena::Half::blocks, kBytes, 4096), nullptr);
  ASSERT_NE(pair.first.grow(Arena::Half::heap, kBytes, 4096), nullptr);
  ASSERT_NE(pair.second.memory_of(0, 0, kBytes), nullptr);
  EXPECT_TRUE(os::populate_pages(pair.first.begin_of(Arena::Half::blocks), kBytes));
  // As mlockall() does.
  EXPECT_FALSE(os::populate_pages(pair.first.begin_of(Arena::Half::blocks), pair.first.half_bytes()));
  EXPECT_EQ(pages_in(pair.first, 0, pair.first.slice_bytes()), kBytes / os::page_bytes());
}

TEST(Arena, ExposuresOfTheHeapKeepItShared) {
  ArenaPair pair;
  constexpr size_t kBytes = size_t{1} << 20;
  std::byte* const block = pair.first.grow(Arena::Half::blocks, kBytes, 4096);
  std::byte* const heap = pair.first.grow(Arena::Half::heap, kBytes, 4096);
  std::memset(heap, 1, kBytes);
  const Exposure of_block = pair.first.expose(block, kBytes);
  EXPECT_TRUE(of_block);
  Exposure of_heap = pair.first.expose(heap + 100, 1000);
  ASSERT_TRUE(of_heap);
  EXPECT_EQ(*pair.second.memory_of(0, of_heap.offset(), 1000), std::byte{1});
  EXPECT_FALSE(pair.first.take_heap_back());
  EXPECT_TRUE(pair.first.holds(heap, kBytes));
  Exposure moved = std::move(of_heap);
  EXPECT_FALSE(of_heap);
  EXPECT_FALSE(pair.first.take_heap_back());
  moved.end();
  EXPECT_TRUE(pair.first.take_heap_back());
  EXPECT_FALSE(pair.first.holds(heap, 1));
  EXPECT_FALSE(pair.first.expose(heap, 1));
  EXPECT_TRUE(pair.first.expose(block, kBytes)) << "blocks stay shared";
}

TEST(Arena, AHeapTakenBackKeepsItsContents) {
  ArenaPair pair;
  constexpr size_t kBytes = size_t{1} << 20;
  const size_t page = os::page_bytes();
  std::byte* const heap = pair.first.grow(Arena::Half::heap, 2 * kBytes, page);
  std::memset(heap, 7, kBytes);
  const uint64_t offset = pair.first.offset_of(heap);
  EXPECT_EQ(pages_in(pair.first, offset, 2 * kBytes), kBytes / page);
  EXPECT_TRUE(pair.first.take_heap_back());
  EXPECT_EQ(pages_in(pair.first, offset, 2 * kBytes), 0u) << "no page is kept twice";
  EXPECT_EQ(heap[0], std::byte{7});
  EXPECT_EQ(heap[kBytes - 1], std::byte{7});
  EXPECT_EQ(heap[kBytes], std::byte{0});
  std::memset(heap, 8, kBytes);
  EXPECT_EQ(*pair.second.memory_of(0, offset, 1), std::byte{0}) << "a peer must not see private memory";
  // Returned pages and new pages read as zeros.
  EXPECT_TRUE(pair.first.give_back(heap, kBytes));
  EXPECT_EQ(heap[0], std::byte{0});
  std::byte* const more = pair.first.grow(Arena::Half::heap, kBytes, page);
  ASSERT_NE(more, nullptr);
  EXPECT_EQ(more[0], std::byte{0});
  std::memset(more, 9, kBytes);
  EXPECT_EQ(pages_in(pair.first, offset, 4 * kBytes), 2u)
      << "only the page that was read before it was written, and the one that the peer has read";
  EXPECT_FALSE(pair.first.take_heap_back()) << "once is enough";
}

TEST(Arena, AnEmptyHeapStaysShared) {
  ArenaPair pair;
  EXPECT_FALSE(pair.first.take_heap_back());
  std::byte* const heap = pair.first.grow(Arena::Half::heap, 4096, 4096);
  EXPECT_FALSE(pair.first.take_heap_back()) << "nothing to copy yet";
  EXPECT_TRUE(pair.first.holds(heap, 4096));
}

// Threads store to the heap while it is taken back: no store may be lost.
TEST(Arena, ThreadsStoreWhileTheHeapIsTakenBack) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "it takes mmap() for a store to all pages";
#endif
  for (int round = 0; round < 20; ++round) {
    ArenaPair pair;
    constexpr size_t kBytes = size_t{2} << 20;
    auto* const words = reinterpret_cast<uint64_t*>(pair.first.grow(Arena::Half::heap, kBytes, 4096));
    constexpr size_t kWords = kBytes / sizeof(uint64_t);
    constexpr size_t kThreads = 3;
    bool stop = false;
    uint64_t stored[kThreads] = {};
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        // Each thread increments its own words, one pass after the other.
        uint64_t count = 0;
        while (!atomic::load_relaxed(stop)) {
          ++count;
          for (size_t at = t; at < kWords; at += 512) words[at] = count;
        }
        stored[t] = count;
      });
    }
    while (atomic::load_relaxed(words[0]) < 3) std::this_thread::yield();
    EXPECT_TRUE(pair.first.take_heap_back());
    atomic::store_relaxed(stop, true);
    for (std::thread& thread : threads) thread.join();
    for (size_t t = 0; t < kThreads; ++t) {
      for (size_t at = t; at < kWords; at += 512) ASSERT_EQ(words[at], stored[t]) << "word " << at;
    }
  }
}

TEST(Arena, GrowsAlignedAndApartInManyThreads) {
  ArenaPair pair;
  constexpr int kThreads = 4;
  constexpr int kEach = 200;
  std::vector<std::vector<std::byte*>> pieces(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&pair, &mine = pieces[static_cast<size_t>(t)], t] {
      for (int i = 0; i < kEach; ++i)
        mine.push_back(pair.first.grow(Arena::Half::blocks, 8192, t % 2 == 0 ? 4096 : 65536));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::byte*> all;
  for (int t = 0; t < kThreads; ++t) {
    for (std::byte* piece : pieces[static_cast<size_t>(t)]) {
      ASSERT_TRUE(pair.first.holds(piece, 8192));
      if (t % 2 != 0) EXPECT_EQ(reinterpret_cast<uintptr_t>(piece) % 65536, 0u);
      all.insert(piece);
    }
  }
  ASSERT_EQ(all.size(), size_t{kThreads} * kEach);
  const std::byte* before = nullptr;
  for (std::byte* piece : all) {
    if (before != nullptr) ASSERT_GE(piece - before, 8192);
    before = piece;
  }
}

TEST(Arena, ComesToItsEnd) {
  ArenaPair pair;
  const size_t half = pair.first.half_bytes();
  EXPECT_EQ(pair.first.grow(Arena::Half::blocks, half + 4096, 4096), nullptr);
  EXPECT_NE(pair.first.grow(Arena::Half::blocks, half - 4096, 4096), nullptr);
  EXPECT_EQ(pair.first.grow(Arena::Half::blocks, 8192, 4096), nullptr);
  EXPECT_NE(pair.first.grow(Arena::Half::blocks, 4096, 4096), nullptr);
  EXPECT_EQ(pair.first.grow(Arena::Half::blocks, 4096, 4096), nullptr);
  EXPECT_NE(pair.first.grow(Arena::Half::heap, half, 4096), nullptr) << "each half is used up by itself";
}

TEST(Arena, GivesMemoryBackAndKeepsAddresses) {
  ArenaPair pair;
  const size_t bytes = 64 * os::page_bytes();
  std::byte* mine = pair.first.grow(Arena::Half::blocks, bytes, os::page_bytes());
  EXPECT_EQ(pages_in(pair.first, 0, bytes), 0u) << "memory before it was touched";
  std::memset(mine, 1, bytes);
  EXPECT_EQ(pages_in(pair.first, 0, bytes), 64u);
  EXPECT_EQ(*pair.second.memory_of(0, 0, bytes), std::byte{1});
  EXPECT_TRUE(pair.first.give_back(mine + os::page_bytes(), bytes - 2 * os::page_bytes()));
  EXPECT_EQ(pages_in(pair.first, 0, bytes), 2u);
  EXPECT_EQ(mine[0], std::byte{1});
  EXPECT_EQ(mine[bytes / 2], std::byte{0});
  EXPECT_EQ(mine[bytes - 1], std::byte{1});
}

TEST(Arena, FilesOfAnotherKindAreRefused) {
  Arena arena;
  os::Descriptor file(os::create_shared_memory("other", 8192));
  EXPECT_FALSE(Arena::attach(std::move(file), 2, 0, arena).ok());
  EXPECT_NE(std::string(last_failure_text()).find("not the arena of 2 ranks"), std::string::npos);
  EXPECT_FALSE(arena.usable());
  EXPECT_FALSE(Arena::attach(os::Descriptor(), 2, 0, arena).ok());
  // The file was made for another number of ranks.
  Arena made;
  ASSERT_TRUE(Arena::create(2, made).ok());
  EXPECT_FALSE(Arena::attach(os::duplicate_out_of_the_way(made.descriptor()), 3, 2, arena).ok());
}

TEST(Arena, AProgramThatClosesOurDescriptorLosesPeersOnly) {
  ArenaPair pair;
  std::byte* mine = pair.second.grow(Arena::Half::blocks, 4096, 4096);
  os::close_descriptor(pair.second.descriptor());
  const os::Descriptor stranger = os::open_to_read("/dev/null");  // may take the number of the closed one
  EXPECT_EQ(pair.second.memory_of(0, 0, 1), nullptr);
  EXPECT_EQ(pair.second.memory_of(1, 0, 1), mine);
}

}  // namespace
}  // namespace hearth::shm
