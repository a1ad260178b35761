// The program's heap, shared with the other ranks: what libhearth_heap.so promises to libmpi_abi.so.
//
// mpiexec preloads that library where the heap is to be shared (parameter share_heap). It is jemalloc under
// the names malloc, free and so on. Until the library opens it all memory is private, as with any allocator;
// so a wrapper script, and a program that never uses MPI, never touch a window. From then on new allocations
// of some length come from the window of the arena that this process owns; short ones, which nobody sends
// alone and everybody else writes to at any time, stay private for good.
#pragma once

#include <cstddef>

namespace hearth::heap {

/// The window, as the heap sees it. The functions may be called by any thread, with locks of the allocator
/// held: they allocate nothing.
struct Window {
  void* context;
  /// The next fresh piece, zeros; nullptr when the window is used up. Both are multiples of the page.
  std::byte* (*grow)(void* context, size_t bytes, size_t alignment);
  /// Returns the memory of whole pages, which then read as zeros; false when the system refuses.
  bool (*give_back)(void* context, std::byte* from, size_t bytes);
  /// Whether the window's memory can be touched: not in some children made by fork. Asked in such a child.
  bool (*reachable)(void* context);
  /// Shorter allocations stay private, and longer ones.
  size_t bytes_min;
  size_t bytes_max;
};

}  // namespace hearth::heap

/// Opens the heap to a window, once in a process, by one thread. nullptr when that was done, else why not.
/// The window and what its functions need stay for the rest of the process. Null itself where
/// libhearth_heap.so was not preloaded; the number counts up when Window changes.
extern "C" [[gnu::weak, gnu::visibility("default")]] const char* hearth_heap_open_2(
    const hearth::heap::Window* window);
