// Blocks of the own arena slice for MPI_Alloc_mem and MPI windows, by the best-fit allocator of
// Boost.Interprocess.
//
//   area      the first half of the slice, taken piece by piece from Arena::grow() as it fills
//   block     | allocator's header, 64 bytes | the caller's bytes ... |
//
// Pages get memory when they are touched. A large block begins at a huge page's boundary. When it is freed,
// its memory returns to the system immediately (docs/design/arena.md). Used under the library's lock.
#pragma once

#include <cstddef>

#include "shm/arena.h"

namespace hearth::shm {

/// Alignment of every block.
constexpr size_t kBlockAlignment = 64;
/// Blocks of this length or more begin at a multiple of it and are offered huge pages.
constexpr size_t kHugePageBytes = size_t{2} << 20;
/// Blocks of this length or more return their memory when they are freed.
constexpr size_t kReturnedBytes = size_t{1} << 20;

class ArenaBlocks {
 public:
  /// nullptr if the slice has no room. Pre: the arena is usable and stays usable; all calls pass the same
  /// arena; `alignment` is a power of two.
  std::byte* allocate(Arena& arena, size_t bytes, size_t alignment);
  /// Pre: `block` was returned by allocate() for this number of bytes.
  void free(Arena& arena, std::byte* block, size_t bytes);

 private:
  bool grow(Arena& arena, size_t bytes);

  std::byte* area_ = nullptr;  // the allocator's state, at the start of the area
  size_t area_bytes_ = 0;
  bool ended_ = false;  // the area cannot grow: the last piece from Arena::grow() did not follow it
  std::byte* shown_to_ = nullptr;  // the area up to here is in core files
};

}  // namespace hearth::shm
