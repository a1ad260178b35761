// The program's heap, shared with the other ranks: what libhearth_heap.so promises to libmpi_abi.so.
//
// mpiexec preloads that library where the heap is to be shared (parameter share_heap). It stands in front of
// the C library's malloc and passes every call on, so memory is private at first. Once libmpi_abi.so has
// opened the heap, new blocks of `bytes_min` to `bytes_max` bytes come from this process's slice of the
// arena. Shorter blocks, which are seldom sent alone, and longer ones stay with the C library.
//
// A peer may read a block only while a send from it is pending. A program frees the block after the send has
// completed, that is, after the peer's last read; so pages may be reused or given back at once. give_back()
// empties pages in the file and unmaps nothing: a late read by a faulty program sees zeros and is no fault.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::heap {

/// The arena slice, as the heap uses it. Any thread may call the functions. They allocate nothing of the
/// slice.
struct Slice {
  void* context;
  std::byte* begin;
  size_t bytes;
  size_t page_bytes;
  /// Shorter and longer blocks stay private. bytes_max is SIZE_MAX where the shared heap has no bound.
  size_t bytes_min;
  size_t bytes_max;
  /// Freed blocks keep at most this much memory for the next ones.
  size_t kept_bytes_max;
  /// After blocks of this many bytes without an exposure the heap is idle: new blocks are private.
  size_t idle_bytes_max;

  /// The next unused addresses: zeros without memory behind them; nullptr when the slice is used up. Both
  /// numbers are multiples of the page.
  std::byte* (*grow)(void* context, size_t bytes, size_t alignment);
  /// Returns the memory of whole pages, which then read as zeros; false when the system refuses.
  bool (*give_back)(void* context, std::byte* from, size_t bytes);
  /// How often peers have been allowed to read blocks so far.
  uint64_t (*exposures)(void* context);
  /// Puts memory behind whole empty pages, where that is faster than page faults.
  void (*populate)(void* context, std::byte* from, size_t bytes);
  /// Whether (nearly) all of these pages have memory behind them.
  bool (*is_present)(void* context, const std::byte* from, size_t bytes);
  /// Before a fork, while no other function of the slice runs: stops sharing, if that is possible.
  void (*before_fork)(void* context);
  /// In a child made by fork: whether the slice's memory can be touched.
  bool (*is_reachable)(void* context);

  /// Private address space that reads as zeros where it is committed.
  void* (*reserve)(size_t bytes);
  bool (*commit)(void* from, size_t bytes);
  uint64_t (*now_ns)();
};

}  // namespace hearth::heap

/// Opens the heap to a slice, once in a process, by one thread. Returns nullptr, or the reason why not. The
/// window and what its functions need stay for the rest of the process. The symbol is null where
/// libhearth_heap.so was not preloaded; its number changes with Slice.
extern "C" [[gnu::weak, gnu::visibility("default")]] const char* hearth_heap_open_4(
    const hearth::heap::Slice* slice);
/// Ends the idle state of the heap (Slice::idle_bytes_max), if it is idle: the program sends long messages
/// from private memory. Any thread, not from within an allocation. Null as above.
extern "C" [[gnu::weak, gnu::visibility("default")]] void hearth_heap_resume();
