#include "shm/arena.h"

#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "arena_pair.h"
#include "base/os_memory.h"

namespace hearth::shm {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

// Pages of a range that are in memory.
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

TEST(Arena, WindowsFollowTheMemory) {
  EXPECT_EQ(Arena::plan_window_bytes(2, 24 * kGiB, UINT64_MAX, UINT64_MAX), 64 * kGiB);
  EXPECT_EQ(Arena::plan_window_bytes(2, kGiB / 8, UINT64_MAX, UINT64_MAX), kGiB);
  // 47 bits are for all of them.
  EXPECT_EQ(Arena::plan_window_bytes(4096, 1024 * kGiB, UINT64_MAX, UINT64_MAX), 8 * kGiB);
  // A limited process keeps most of its addresses.
  EXPECT_EQ(Arena::plan_window_bytes(2, 24 * kGiB, 16 * kGiB, UINT64_MAX), 2 * kGiB);
  EXPECT_EQ(Arena::plan_window_bytes(3, 24 * kGiB, UINT64_MAX, 10 * kGiB), 2 * kGiB);
  EXPECT_EQ(Arena::plan_window_bytes(64, 24 * kGiB, 8 * kGiB, UINT64_MAX), 0u);
}

TEST(Arena, OneRanksMemoryIsReachedByTheOther) {
  ArenaPair pair;
  std::byte* mine = pair.first.grow(3 * os::page_bytes(), os::page_bytes());
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
  std::byte* mine = pair.first.grow(os::page_bytes(), os::page_bytes());
  const size_t window = pair.first.window_bytes();
  EXPECT_TRUE(pair.first.holds(mine, window - pair.first.offset_of(mine)));
  EXPECT_FALSE(pair.first.holds(mine, window - pair.first.offset_of(mine) + 1));
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
  const size_t window = pair.first.window_bytes();
  EXPECT_NE(pair.second.memory_of(0, window - 1, 1), nullptr);
  EXPECT_EQ(pair.second.memory_of(0, window - 1, 2), nullptr);
  EXPECT_EQ(pair.second.memory_of(0, window + 1, 0), nullptr);
  EXPECT_EQ(pair.second.memory_of(0, UINT64_MAX, 1), nullptr);
  EXPECT_EQ(pair.second.memory_of(0, 1, SIZE_MAX), nullptr);
}

TEST(Arena, GrowsAlignedAndApartInManyThreads) {
  ArenaPair pair;
  constexpr int kThreads = 4;
  constexpr int kEach = 200;
  std::vector<std::vector<std::byte*>> pieces(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&pair, &mine = pieces[static_cast<size_t>(t)], t] {
      for (int i = 0; i < kEach; ++i) mine.push_back(pair.first.grow(8192, t % 2 == 0 ? 4096 : 65536));
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
  const size_t window = pair.first.window_bytes();
  EXPECT_EQ(pair.first.grow(window + 4096, 4096), nullptr);
  EXPECT_NE(pair.first.grow(window - 4096, 4096), nullptr);
  EXPECT_EQ(pair.first.grow(8192, 4096), nullptr);
  EXPECT_NE(pair.first.grow(4096, 4096), nullptr);
  EXPECT_EQ(pair.first.grow(4096, 4096), nullptr);
}

TEST(Arena, GivesMemoryBackAndKeepsAddresses) {
  ArenaPair pair;
  const size_t bytes = 64 * os::page_bytes();
  std::byte* mine = pair.first.grow(bytes, os::page_bytes());
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
  // Made for another number of ranks.
  Arena made;
  ASSERT_TRUE(Arena::create(2, made).ok());
  EXPECT_FALSE(Arena::attach(os::duplicate_out_of_the_way(made.descriptor()), 3, 2, arena).ok());
}

TEST(Arena, AProgramThatClosesOurDescriptorLosesPeersOnly) {
  ArenaPair pair;
  std::byte* mine = pair.second.grow(4096, 4096);
  os::close_descriptor(pair.second.descriptor());
  const os::Descriptor stranger = os::open_to_read("/dev/null");  // takes the lowest number, perhaps this one
  EXPECT_EQ(pair.second.memory_of(0, 0, 1), nullptr);
  EXPECT_EQ(pair.second.memory_of(1, 0, 1), mine);
}

}  // namespace
}  // namespace hearth::shm
