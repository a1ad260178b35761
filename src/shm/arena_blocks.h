// Blocks of the own window for MPI_Alloc_mem and its like, by the best-fit allocator of Boost.Interprocess.
//
//   area      the first half of the window, taken piece by piece from Arena::grow() as it fills
//   block     | allocator's header, 64 bytes | the caller's bytes ... |
//
// Pages come as they are touched. A large block begins at a huge page's boundary; freed, its memory goes back
// to the system at once (docs/design/arena.md). Used under the library's lock.
#pragma once

#include <cstddef>

#include "shm/arena.h"

namespace hearth::shm {

/// Every block begins at a multiple of this.
constexpr size_t kBlockAlignment = 64;
/// Blocks so long begin at a multiple of it, and are offered huge pages.
constexpr size_t kHugePageBytes = size_t{2} << 20;
/// Blocks so long return their memory when they are freed.
constexpr size_t kReturnedBytes = size_t{1} << 20;

class ArenaBlocks {
 public:
  /// nullptr when the window has no room for it. Pre: the arena is usable and stays so; the same one in every
  /// call; alignment is a power of two.
  std::byte* allocate(Arena& arena, size_t bytes, size_t alignment);
  /// Pre: from allocate(), which was asked for so many bytes.
  void free(Arena& arena, std::byte* block, size_t bytes);

 private:
  bool grow(Arena& arena, size_t bytes);

  std::byte* area_ = nullptr;  // where the allocator's state begins
  size_t area_bytes_ = 0;
  bool ended_ = false;             // the next piece would not follow the area
  std::byte* shown_to_ = nullptr;  // core files have the area up to here
};

}  // namespace hearth::shm
