// Blocks of the heap that lie in the slice. Whole pages, so that no two blocks share one; the bookkeeping is
// private memory (extents.h). Any thread; one lock, which is never held during a system call that takes long.
//
// Freed pages stay resident for the next blocks, up to a bound: twice the largest block that was freed, as
// glibc bounds what it keeps, and at most Slice::kept_bytes_max. Beyond it, the pages that have been free
// for the longest time go back to the system. What goes back counts as a credit for a second: new pages that
// the credit covers are populated in one call, by huge pages if possible, because the program is likely to
// touch them too. Without a credit, new pages come one by one as they are touched, so that memory is never
// spent on blocks that are not touched.
//
// A program that sends no long messages gains nothing by the slice, and loses where private memory has huge
// pages or its freed pages stay longer. So the heap becomes idle when blocks of Slice::idle_bytes_max have
// been handed out and peers have read none: new blocks are private, until the program sends a long message
// (resume()).
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

#include "base/atomic.h"
#include "heap/extents.h"
#include "heap/heap.h"

namespace hearth::heap {

class SharedBlocks {
 public:
  constexpr SharedBlocks() = default;

  /// Once. Returns nullptr, or the reason why the slice cannot be used.
  const char* open(const Slice& slice);

  /// Whether a block of this size is to come from the slice.
  bool wants(size_t bytes) const {
    // Pairs with the release store in open(): the slice is set. bytes_max is read after it.
    return __builtin_expect(bytes >= atomic::load_acquire(bytes_min_), 0) && bytes <= slice_.bytes_max;
  }
  /// Whether an address is one of a block of the slice.
  bool holds(const void* address) const {
    // Relaxed: a thread that has such a block got it after open().
    return __builtin_expect(offset_of(address) < atomic::load_relaxed(bytes_end_), 0);
  }
  bool is_bounded() const { return slice_.bytes_max != SIZE_MAX; }

  /// Has wants() accept blocks again that it refuses because the heap is idle.
  void resume() {
    if (__builtin_expect(atomic::load_relaxed(is_idle_), 0)) end_idleness();
  }

  /// nullptr when the slice is used up. Pre: wants(bytes), the alignment is a power of two.
  void* allocate(size_t bytes, size_t alignment, bool zeroed);
  /// Pre: holds(block). An address that is not a block's ends the process.
  /// The length of the block if it raises the bound on resident pages, since none as long was freed before;
  /// else 0.
  size_t free(void* block);
  size_t usable_bytes(const void* block) const;
  /// Shrinks or grows a block where it lies. False when it cannot grow there.
  bool resize(void* block, size_t bytes);

  // Around a fork, in the thread that forks, which may use the heap in between. stop_sharing() comes before
  // the handlers of the slice's owner, lock_for_fork() after them.
  void stop_sharing();
  void lock_for_fork();
  void unlock_in_parent();
  /// Closes the heap: the child still shares the slice's memory with its parent.
  void unlock_in_child();
  /// In the child, once its slice is a copy of its own, if there is one.
  void reopen_in_child();

 private:
  class Guard;

  size_t offset_of(const void* address) const {
    return static_cast<size_t>(static_cast<const std::byte*>(address) - slice_.begin);
  }
  // Pages are numbered from 1.
  PageIndex index_of(const void* address) const {
    return static_cast<PageIndex>(offset_of(address) / slice_.page_bytes + 1);
  }
  std::byte* address_of(PageIndex page) const {
    return slice_.begin + (page - size_t{1}) * slice_.page_bytes;
  }
  uint32_t pages_for(size_t bytes) const {
    return static_cast<uint32_t>((bytes + slice_.page_bytes - 1) / slice_.page_bytes);
  }
  PageIndex checked_index_of(const void* block) const;
  bool grow(size_t bytes, size_t alignment);
  bool take(uint32_t pages, size_t alignment, Extent& extent);
  bool take_or_grow(uint32_t pages, size_t alignment, Extent& extent);
  uint32_t covered_by_credit(uint32_t pages);
  void note_allocation(size_t bytes);
  void end_idleness();
  void release_resident(PageIndex first);
  void trim(size_t pages_max);
  size_t resident_pages_max() const;
  size_t bytes_min() const {
    return slice_.bytes_min < slice_.page_bytes ? slice_.page_bytes : slice_.bytes_min;
  }

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t none_gives_back_ = PTHREAD_COND_INITIALIZER;
  Slice slice_ = {};
  size_t bytes_min_ = SIZE_MAX;  // atomic; SIZE_MAX: closed
  size_t bytes_end_ = 0;         // atomic; of the slice's bytes, blocks lie in front of this
  Page* table_ = nullptr;
  Extents extents_{nullptr};
  int giving_back_ = 0;         // threads in trim() that have released the lock
  bool is_idle_ = false;        // atomic
  size_t unexposed_bytes_ = 0;  // of blocks since the last exposure
  uint64_t exposures_seen_ = 0;
  uint32_t freed_pages_max_ = 0;  // of the blocks whose size counts for the bound
  bool is_parents_ = false;       // the slice's memory, in a child made by fork
  // Bytes that were touched, freed and given back a moment ago, and when.
  size_t credit_bytes_ = 0;
  uint64_t credit_ns_ = 0;
};

}  // namespace hearth::heap
