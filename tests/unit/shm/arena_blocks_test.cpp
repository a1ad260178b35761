#include "shm/arena_blocks.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "arena_pair.h"
#include "base/os_memory.h"

namespace hearth::shm {
namespace {

uint64_t bytes_in_memory(const Arena& arena) {
  uint64_t bytes = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  for (uint64_t from = 0; os::next_data(arena.descriptor(), from, begin, end); from = end)
    bytes += end - begin;
  return bytes;
}

TEST(ArenaBlocks, RandomBlocksNeitherOverlapNorChange) {
  ArenaPair pair;
  ArenaBlocks blocks;
  struct Block {
    std::byte* memory;
    size_t bytes;
    std::byte value;
  };
  std::vector<Block> live;
  std::mt19937 random(7);
  for (int step = 0; step < 4000; ++step) {
    if (live.size() < 60 && random() % 5 < 3) {
      const size_t scale = size_t{1} << (random() % 18);
      const size_t bytes = 1 + random() % scale;
      const size_t alignment = size_t{64} << (random() % 8);
      std::byte* memory = blocks.allocate(pair.first, bytes, alignment);
      ASSERT_NE(memory, nullptr);
      ASSERT_TRUE(pair.first.holds(memory, bytes));
      ASSERT_EQ(reinterpret_cast<uintptr_t>(memory) % alignment, 0u);
      for (const Block& other : live) {
        ASSERT_TRUE(memory + bytes <= other.memory || other.memory + other.bytes <= memory);
      }
      const auto value = static_cast<std::byte>(random());
      std::memset(memory, static_cast<int>(value), bytes);
      live.push_back({memory, bytes, value});
    } else if (!live.empty()) {
      const size_t which = random() % live.size();
      const Block block = live[which];
      ASSERT_TRUE(std::all_of(block.memory, block.memory + block.bytes,
                              [&block](std::byte byte) { return byte == block.value; }));
      blocks.free(pair.first, block.memory, block.bytes);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }
}

TEST(ArenaBlocks, LargeBlocksReturnTheirMemory) {
  ArenaPair pair;
  ArenaBlocks blocks;
  std::byte* stays = blocks.allocate(pair.first, 100, 64);
  constexpr size_t kBytes = size_t{24} << 20;
  for (const size_t odd : {0, 1, 57, 60, 63}) {
    std::byte* large = blocks.allocate(pair.first, kBytes + odd, 64);
    ASSERT_NE(large, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(large) % kHugePageBytes, 0u);
    std::byte* behind = blocks.allocate(pair.first, kBytes, 64);
    std::memset(large, 1, kBytes + odd);
    EXPECT_GT(bytes_in_memory(pair.first), kBytes);
    blocks.free(pair.first, large, kBytes + odd);
    EXPECT_LT(bytes_in_memory(pair.first), kReturnedBytes);
    // The allocator's headers between the blocks are intact.
    std::byte* again = blocks.allocate(pair.first, kBytes + odd, 64);
    EXPECT_EQ(again, large);
    blocks.free(pair.first, again, kBytes + odd);
    blocks.free(pair.first, behind, kBytes);
  }
  std::memset(stays, 1, 100);
  blocks.free(pair.first, stays, 100);
}

TEST(ArenaBlocks, MoreThanThereIsIsNoBlock) {
  ArenaPair pair;
  ArenaBlocks blocks;
  EXPECT_EQ(blocks.allocate(pair.first, pair.first.slice_bytes(), 64), nullptr);
  EXPECT_EQ(blocks.allocate(pair.first, SIZE_MAX - 1, 64), nullptr);
  EXPECT_EQ(blocks.allocate(pair.first, 64, size_t{1} << 62), nullptr);
  std::byte* most = blocks.allocate(pair.first, pair.first.slice_bytes() / 4, 64);
  EXPECT_NE(most, nullptr);
  EXPECT_LT(bytes_in_memory(pair.first), kReturnedBytes) << "it took memory for what nobody has touched";
}

TEST(ArenaBlocks, GrowsPieceByPieceToTheEndOfItsHalf) {
  ArenaPair pair;
  ArenaBlocks blocks;
  const size_t half = pair.first.half_bytes();
  const size_t bytes = half / 16;
  size_t count = 0;
  while (std::byte* block = blocks.allocate(pair.first, bytes, 64)) {
    ASSERT_TRUE(pair.first.holds(block, bytes));
    std::memset(block, 1, 1);
    std::memset(block + bytes - 1, 1, 1);
    ++count;
  }
  EXPECT_GE(count, 14u);
  EXPECT_NE(blocks.allocate(pair.first, 4096, 64), nullptr) << "short blocks fit the rest";
  EXPECT_NE(pair.first.grow(Arena::Half::heap, half, 4096), nullptr) << "blocks took memory of the heap";
}

TEST(ArenaBlocks, AHalfThatIsUsedUpHasNoBlocks) {
  ArenaPair full;
  ArenaBlocks none;
  ASSERT_NE(full.first.grow(Arena::Half::blocks, full.first.half_bytes(), 4096), nullptr);
  EXPECT_EQ(none.allocate(full.first, 1, 64), nullptr);
}

}  // namespace
}  // namespace hearth::shm
