// Arenas across fork(). Memory that is mapped shared would stay shared with a child, whose stores would
// change its parent's data.
//
// The heap is made private before the first fork, permanently and at the same addresses. libhearth_heap.so
// calls take_heap_back() for this, because it needs the lock of the heap. Afterwards fork() treats the heap
// as any other private memory.
//
// Memory of MPI_Alloc_mem and MPI windows stays shared, and so does the heap if it is exposed at the time of
// the fork or memory is short. Shared memory is not mapped in children (MADV_DONTFORK): access by a child of
// _Fork() or clone() faults. A child of fork() gets a copy at the same addresses before fork() returns there.
// The parent waits for the copy, so that the child gets the values at the time of the fork:
//
//   before:  lock; create a pipe
//   parent:  read the pipe until a byte arrives, or end of file if the child has died; unlock
//   child:   copy the pages that exist; write a byte into the pipe; unlock
//
// If there is no memory for a copy, access by the child faults. A child that executes another program does
// not need the copy.
#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/atomic.h"
#include "base/check.h"
#include "base/immortal.h"
#include "base/os_memory.h"
#include "base/os_process.h"
#include "shm/arena.h"

namespace hearth::shm {
namespace {

// The check for available memory is skipped up to this size.
constexpr uint64_t kSmallBytes = uint64_t{64} << 20;

struct Watch {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;  // held across the fork
  std::vector<Arena*> arenas;
  os::Pipe pipe;      // open while a child copies
  bool copy = false;  // there are pages to copy, and copying is possible
};
Immortal<Watch> the_watch;

void complain(uint64_t bytes, const char* why) {
  std::fprintf(stderr,
               "hearth: fork: the %llu MiB of this process that other ranks can reach are not copied for the "
               "child (%s): it may start another program, but not use that memory\n",
               static_cast<unsigned long long>(bytes >> 20), why);
}

[[noreturn]] void refuse_stack() {
  std::fputs(
      "hearth: fork by a thread or coroutine whose stack other ranks can reach: parent and child would share "
      "it. "
      "Likely cause: it lies in memory of MPI_Alloc_mem, or in a block of malloc that a pending message "
      "uses. "
      "Remedy: a stack of mmap, or mpiexec --no-share-heap\n",
      stderr);
  std::abort();
}

void before_fork() {
  Watch& watch = the_watch.value;
  pthread_mutex_lock(&watch.mutex);
  uint64_t bytes = 0;
  for (const Arena* arena : watch.arenas) {
    // If the current stack is in shared memory, parent and child would both use it before it could be copied.
    if (arena->holds(&bytes, sizeof bytes)) refuse_stack();
    bytes += arena->bytes_to_copy();
  }
  watch.copy = bytes > 0;
  if (!watch.copy) return;
  if (bytes > kSmallBytes && bytes > os::available_memory_bytes()) {
    complain(bytes, "there is not enough memory");
    watch.copy = false;
  } else if (!os::make_pipe(watch.pipe)) {
    complain(bytes, std::strerror(errno));
    watch.copy = false;
  }
}

void in_parent() {
  Watch& watch = the_watch.value;
  if (watch.copy) {
    watch.pipe.write_end.reset();
    char byte = 0;
    os::read_some(watch.pipe.read_end.number(), &byte, 1);
    watch.pipe.read_end.reset();
  }
  pthread_mutex_unlock(&watch.mutex);
}

void in_child() {
  Watch& watch = the_watch.value;
  for (Arena* arena : watch.arenas) arena->become_private(watch.copy);
  if (watch.copy) {
    const char done = 1;
    os::write_some(watch.pipe.write_end.number(), &done, 1);
    watch.pipe.write_end.reset();
    watch.pipe.read_end.reset();
  }
  pthread_mutex_unlock(&watch.mutex);
}

class WatchGuard {
 public:
  WatchGuard() { pthread_mutex_lock(&the_watch.value.mutex); }
  ~WatchGuard() { pthread_mutex_unlock(&the_watch.value.mutex); }
  WatchGuard(const WatchGuard&) = delete;
  WatchGuard& operator=(const WatchGuard&) = delete;
};

}  // namespace

void watch_forks_for(Arena& arena) {
  const WatchGuard guard;
  std::vector<Arena*>& arenas = the_watch.value.arenas;
  if (std::find(arenas.begin(), arenas.end(), &arena) != arenas.end()) return;
  static const bool watching = os::watch_forks(before_fork, in_parent, in_child);
  HEARTH_CHECK(watching);
  arenas.push_back(&arena);
}

void ignore_forks_for(const Arena& arena) {
  const WatchGuard guard;
  std::erase(the_watch.value.arenas, &arena);
}

// Calls `action` for each range of pages that were handed out and have memory, with offsets in the slice.
template <class Action>
void Arena::for_each_piece_with_pages(Half half, Action action) const {
  const uint64_t begin = file_offset() + begin_offset(half);
  const uint64_t end = begin + atomic::load_relaxed(used_[static_cast<size_t>(half)]);
  uint64_t first = 0;
  uint64_t last = 0;
  for (uint64_t from = begin; from < end && os::next_data(slices_.descriptor(), from, first, last);
       from = last) {
    if (first >= end) break;
    action(first - file_offset(), std::min(last, end) - file_offset());
  }
}

uint64_t Arena::bytes_in(Half half) const {
  uint64_t bytes = 0;
  for_each_piece_with_pages(half, [&bytes](uint64_t from, uint64_t to) { bytes += to - from; });
  return bytes;
}

uint64_t Arena::bytes_to_copy() const {
  if (base_ == nullptr || !slices_.has_file()) return 0;
  return (is_private(Half::blocks) ? 0 : bytes_in(Half::blocks)) +
         (is_private(Half::heap) ? 0 : bytes_in(Half::heap));
}

// Other threads store to the heap during this call, and no store may be lost between copying a page and
// replacing it. So the mapping is first replaced by a private mapping of the same file. Then its pages are
// copied in place, in the same way as a store to each page would copy it.
bool Arena::take_heap_back() {
  if (base_ == nullptr || is_private(Half::heap) || !slices_.has_file()) return false;
  const uint64_t pages_bytes = bytes_in(Half::heap);
  if (pages_bytes == 0) return false;
  if (pages_bytes > kSmallBytes && pages_bytes > os::available_memory_bytes()) return false;
  atomic::store_relaxed(heap_is_private_, uint32_t{1});
  // Pairs with the fence in expose().
  atomic::fence_full();
  const uint64_t begin = begin_offset(Half::heap);
  const uint64_t used = atomic::load_relaxed(used_[static_cast<size_t>(Half::heap)]);
  if ((atomic::load_acquire(exposures_) & kActiveMask) != 0 ||
      !os::map_private_over(base_ + begin, slices_.descriptor(), file_offset() + begin, used)) {
    atomic::store_relaxed(heap_is_private_, uint32_t{0});
    return false;
  }
  bool detached = true;
  for_each_piece_with_pages(Half::heap, [this, &detached](uint64_t from, uint64_t to) {
    detached = detached && os::detach_pages(base_ + from, to - from);
  });
  heap_is_detached_ = detached && os::punch_hole(slices_.descriptor(), file_offset() + begin, used);
  return true;
}

// Restores one half in the child, where shared memory is not mapped.
bool Arena::restore(Half half, bool copy) {
  std::byte* const begin = begin_of(half);
  const uint64_t used = atomic::load_relaxed(used_[static_cast<size_t>(half)]);
  // If the heap was made private before the fork, the child has its pages and lacks only the addresses that
  // are not handed out yet.
  const bool has_pages = half == Half::heap && atomic::load_relaxed(heap_is_private_) != 0;
  const uint64_t kept = has_pages ? used : 0;
  if (!os::reserve_at(begin + kept, half_bytes() - kept)) return false;
  if (has_pages || used == 0) return true;
  if (!copy || !slices_.has_file() || !os::make_accessible(begin, used)) return false;
  return copy_pages(half) || (HEARTH_CHECK(os::make_unreachable(begin, half_bytes())), false);
}

bool Arena::copy_pages(Half half) {
  bool copied = true;
  for_each_piece_with_pages(half, [this, &copied](uint64_t from, uint64_t to) {
    while (copied && from < to) {
      const intptr_t bytes = os::read_at(slices_.descriptor(), base_ + from, to - from, file_offset() + from);
      copied = bytes > 0;
      from += static_cast<uint64_t>(bytes);
    }
  });
  return copied;
}

void Arena::become_private(bool copy) {
  if (base_ == nullptr || is_child_) return;
  for (const Half half : {Half::blocks, Half::heap}) {
    if (restore(half, copy)) continue;
    atomic::store_relaxed(used_[static_cast<size_t>(half)], uint64_t{half_bytes()});  // grow() finds no room
    if (half == Half::heap) heap_is_reachable_ = atomic::load_relaxed(heap_is_private_) != 0;
  }
  is_child_ = true;
  slices_.refuse_all_but(base_);
  slices_.close_file();
}

}  // namespace hearth::shm
