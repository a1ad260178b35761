#include "shm/arena_blocks.h"

#include <algorithm>
#include <boost/interprocess/mem_algo/rbtree_best_fit.hpp>
#include <boost/interprocess/sync/mutex_family.hpp>
#include <new>

#include "base/check.h"
#include "base/os_memory.h"

namespace hearth::shm {
namespace {

// Its state and headers lie in the area itself and hold addresses: they are of use in this process only.
using Allocator =
    boost::interprocess::rbtree_best_fit<boost::interprocess::null_mutex_family, void*, kBlockAlignment>;

// Such blocks begin at a page, so that a copy of them touches no page of a neighbour.
constexpr size_t kPageAlignedBytes = size_t{64} << 10;
constexpr size_t kAreaBytesMin = size_t{1} << 20;
// The word in front of the next header, which the allocator lets a block use.
constexpr size_t kSharedTailBytes = 8;

Allocator& allocator_at(std::byte* area) {
  return *reinterpret_cast<Allocator*>(area);
}

std::byte* up(std::byte* address, size_t step) {
  return reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(address) + step - 1) / step * step);
}
std::byte* down(std::byte* address, size_t step) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(address) / step * step);
}

}  // namespace

bool ArenaBlocks::take_area(Arena& arena) {
  if (area_ != nullptr) return true;
  // The heap may have taken more than its half.
  for (size_t bytes = arena.window_bytes() / 2; bytes >= kAreaBytesMin; bytes /= 2) {
    area_ = arena.grow(bytes, kHugePageBytes);
    if (area_ == nullptr) continue;
    area_bytes_ = bytes;
    shown_to_ = area_;
    new (area_) Allocator(bytes, 0);
    return true;
  }
  return false;
}

std::byte* ArenaBlocks::allocate(Arena& arena, size_t bytes, size_t alignment) {
  if (!take_area(arena) || bytes > area_bytes_ || alignment > area_bytes_) return nullptr;
  if (bytes >= kPageAlignedBytes) alignment = std::max(alignment, os::page_bytes());
  if (bytes >= kHugePageBytes) alignment = std::max(alignment, kHugePageBytes);
  auto* block = static_cast<std::byte*>(allocator_at(area_).allocate_aligned(bytes, alignment));
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
    // Refused, the memory stays with the block's next owner.
    if (from < to) static_cast<void>(arena.give_back(from, static_cast<size_t>(to - from)));
  }
  allocator_at(area_).deallocate(block);
}

}  // namespace hearth::shm
