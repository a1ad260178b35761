// The arenas of jemalloc whose memory is the window. Any thread.
#pragma once

#include "heap/heap.h"

namespace hearth::heap {

/// Allocations of so many bytes and more come from a shared arena; SIZE_MAX before the heap is opened.
/// Atomic.
extern size_t shared_bytes_min;
/// Longer ones do not. For those who have found the heap open.
extern size_t shared_bytes_max;

/// Flags for mallocx and rallocx that name the calling thread's shared arena. Pre: the heap is open.
int shared_arena();

/// Makes the arenas; nullptr, or why there are none.
const char* make_shared_arenas(const Window& window);

}  // namespace hearth::heap
