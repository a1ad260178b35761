#include "shm/arena_blocks.h"

#include <algorithm>
#include <boost/interprocess/mem_algo/rbtree_best_fit.hpp>
#include <boost/interprocess/sync/mutex_family.hpp>
#include <new>

#include "base/check.h"
#include "base/os_memory.h"

namespace hearth::shm {
namespace {

// The allocator stores its state and headers in the area. They contain addresses, so only this process can
// use them.
using Allocator =
    boost::interprocess::rbtree_best_fit<boost::interprocess::null_mutex_family, void*, kBlockAlignment>;

// Blocks of this length or more begin at a page, so that copying one touches no page of another block.
constexpr size_t kPageAlignedBytes = size_t{64} << 10;
// The area grows by at least this many bytes and by 1/kGrownShare of its length.
constexpr size_t kGrownBytesMin = size_t{4} << 20;
constexpr size_t kGrownShare = 8;
// Room for the allocator's state and headers.
constexpr size_t kStateBytes = size_t{4} << 10;
// The allocator lets a block use the last word in front of the next header.
constexpr size_t kSharedTailBytes = 8;

Allocator& allocator_at(std::byte* area) {
  return *reinterpret_cast<Allocator*>(area);
}

std::byte* up(std::byte* address, size_t step) {
  return reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(address) + step - 1) / step * step);
}
size_t up(size_t bytes) {
  return (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
}
std::byte* down(std::byte* address, size_t step) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(address) / step * step);
}

}  // namespace

// Extends the area by `bytes` or more.
bool ArenaBlocks::grow(Arena& arena, size_t bytes) {
  if (ended_ || bytes > arena.half_bytes()) return false;
  const size_t usual = std::max({bytes, kGrownBytesMin, area_bytes_ / kGrownShare});
  for (const size_t wanted : {up(usual), up(bytes)}) {
    std::byte* const piece = arena.grow(Arena::Half::blocks, wanted, kHugePageBytes);
    if (piece == nullptr) continue;
    if (area_ == nullptr) {
      area_ = shown_to_ = piece;
      new (area_) Allocator(wanted, 0);
    } else if (piece == area_ + area_bytes_) {
      allocator_at(area_).grow(wanted);
    } else {
      ended_ = true;
      return false;
    }
    area_bytes_ += wanted;
    return true;
  }
  return false;
}

std::byte* ArenaBlocks::allocate(Arena& arena, size_t bytes, size_t alignment) {
  if (bytes > arena.half_bytes() || alignment > arena.half_bytes()) return nullptr;
  if (bytes >= kPageAlignedBytes) alignment = std::max(alignment, os::page_bytes());
  if (bytes >= kHugePageBytes) alignment = std::max(alignment, kHugePageBytes);
  const auto allocated = [&] {
    return static_cast<std::byte*>(area_ == nullptr ? nullptr
                                                    : allocator_at(area_).allocate_aligned(bytes, alignment));
  };
  std::byte* block = allocated();
  if (block == nullptr && grow(arena, bytes + alignment + kStateBytes)) block = allocated();
  if (block == nullptr) return nullptr;
  HEARTH_DCHECK(arena.holds(block, bytes) && reinterpret_cast<uintptr_t>(block) % alignment == 0);
  if (bytes >= kHugePageBytes) os::prefer_huge_pages(block, bytes);
  if (block + bytes > shown_to_) {
    std::byte* end = std::min(up(block + bytes, kHugePageBytes), area_ + area_bytes_);
    arena.show_in_core_files(shown_to_, static_cast<size_t>(end - shown_to_));
    shown_to_ = end;
  }
  return block;
}

void ArenaBlocks::free(Arena& arena, std::byte* block, size_t bytes) {
  if (bytes >= kReturnedBytes) {
    std::byte* from = up(block, os::page_bytes());
    std::byte* to = down(block + bytes - kSharedTailBytes, os::page_bytes());
    // If the system refuses, the pages keep their memory and the next block there uses it.
    if (from < to) static_cast<void>(arena.give_back(from, static_cast<size_t>(to - from)));
  }
  allocator_at(area_).deallocate(block);
}

}  // namespace hearth::shm
