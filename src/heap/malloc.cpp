// The C library's allocation functions. Each hands long blocks to the slice, once the heap is open, and
// everything else to the C library. operator new and delete come here as well, by way of the C++ library.
//
// Where the program brings a malloc of its own, this one is not in force: the heap stays closed, and what is
// still called here goes to the C library, as it would without us.
#include "heap/malloc.h"

#include <pthread.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/atomic.h"
#include "base/os_next_function.h"
#include "heap/heap.h"
#include "heap/shared_blocks.h"

extern "C" {
// The C library's own, which it exports for allocators.
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void* __libc_valloc(size_t bytes);
void* __libc_pvalloc(size_t bytes);
void __libc_free(void* memory);
}

namespace hearth::heap {
namespace {

constinit SharedBlocks blocks;

// No allocator has so much; asked of whatever is named malloc it shows whether that is ours. (Its address
// does not: a program that is not position-independent has one of its own for every function that it points
// to.)
constexpr size_t kQuestion = SIZE_MAX;
bool was_asked = false;  // atomic

bool in_force() {
  const int error = errno;
  named_malloc()(kQuestion);
  errno = error;
  return atomic::load_relaxed(was_asked);
}

size_t private_usable_bytes(void* memory) {
  using Function = size_t (*)(void*);
  static Function function = nullptr;  // atomic; the same for every thread that looks it up
  Function found = atomic::load_relaxed(function);
  if (found == nullptr) {
    found = reinterpret_cast<Function>(os::next_function("malloc_usable_size"));
    if (found == nullptr) return 0;
    atomic::store_relaxed(function, found);
  }
  return found(memory);
}

// Registered when the library is loaded: the lock is taken after the handlers of all libraries that register
// later, whose locks may be held around malloc.
void before_fork() {
  blocks.lock_for_fork();
}
void in_parent() {
  blocks.unlock_in_parent();
}
void in_child() {
  blocks.unlock_in_child();
}
bool is_fork_safe = false;
[[gnu::constructor]] void watch_forks() {
  is_fork_safe = pthread_atfork(before_fork, in_parent, in_child) == 0;
}

// Registered after the arena's handlers, so that they run before and after those: the arena sees whether the
// heap is shared, and the child has its slice.
void stop_sharing() {
  blocks.stop_sharing();
}
void reopen_in_child() {
  blocks.reopen_in_child();
}

// Pre: alignment is a power of two.
void* aligned(size_t alignment, size_t bytes) {
  if (blocks.wants(bytes)) {
    if (void* memory = blocks.allocate(bytes, alignment, false); memory != nullptr) return memory;
  }
  return __libc_memalign(alignment, bytes);
}

// glibc maps blocks beyond a threshold anew each time, and raises the threshold to the longest such block
// that was freed (up to 32 MiB), so that a program that repeats itself does not get new pages each time. It
// does not see the blocks of the slice, and blocks that grow by realloc are private. So it is shown a block
// as long as the longest of the slice, which is not touched.
void raise_private_threshold(size_t bytes) {
  const int error = errno;
  __libc_free(__libc_malloc(bytes));
  errno = error;
}

void free_in_window(void* memory) {
  if (const size_t longest = blocks.free(memory); longest != 0) raise_private_threshold(longest);
}

// Moves a block of the slice to a new place. The old block stays where there is no memory.
void* moved(void* memory, size_t bytes, bool to_window) {
  void* place = to_window ? blocks.allocate(bytes, 1, false) : nullptr;
  if (place == nullptr) place = __libc_malloc(bytes);
  if (place == nullptr) return nullptr;
  std::memcpy(place, memory, std::min(bytes, blocks.usable_bytes(memory)));
  free_in_window(memory);
  return place;
}

void* reallocated_in_window(void* memory, size_t bytes) {
  if (bytes == 0) {  // as the C library does
    free_in_window(memory);
    return nullptr;
  }
  const bool wanted = blocks.wants(bytes);
  if (wanted && blocks.resize(memory, bytes)) return memory;
  // A block that grows step by step is copied once: in private memory it grows without being copied (mremap).
  void* place = moved(memory, bytes, wanted && !blocks.is_bounded());
  return place == nullptr && bytes <= blocks.usable_bytes(memory) ? memory : place;
}

}  // namespace
}  // namespace hearth::heap

using namespace hearth::heap;  // NOLINT: the functions below belong to no namespace

extern "C" {

void* hearth_heap_malloc(size_t bytes) {
  if (bytes == kQuestion) [[unlikely]] {
    hearth::atomic::store_relaxed(was_asked, true);
    errno = ENOMEM;
    return nullptr;
  }
  if (blocks.wants(bytes)) {
    // Null when the slice is used up; then private memory may do.
    if (void* memory = blocks.allocate(bytes, 1, false); memory != nullptr) return memory;
  }
  return __libc_malloc(bytes);
}
[[gnu::visibility("default"), gnu::alias("hearth_heap_malloc")]] void* malloc(size_t bytes);

[[gnu::visibility("default")]] void* calloc(size_t count, size_t bytes) {
  size_t all = 0;
  if (!__builtin_mul_overflow(count, bytes, &all) && blocks.wants(all)) {
    if (void* memory = blocks.allocate(all, 1, true); memory != nullptr) return memory;
  }
  return __libc_calloc(count, bytes);
}

[[gnu::visibility("default")]] void* realloc(void* memory, size_t bytes) {
  if (memory == nullptr) return hearth_heap_malloc(bytes);
  if (blocks.holds(memory)) return reallocated_in_window(memory, bytes);
  // With an unbounded shared heap a short block that has become long moves into the slice.
  if (blocks.wants(bytes) && !blocks.is_bounded()) {
    const size_t former = private_usable_bytes(memory);
    void* place = blocks.wants(former) ? nullptr : blocks.allocate(bytes, 1, false);
    if (place != nullptr) {
      std::memcpy(place, memory, std::min(former, bytes));
      __libc_free(memory);
      return place;
    }
  }
  return __libc_realloc(memory, bytes);
}

[[gnu::visibility("default")]] void free(void* memory) {
  if (blocks.holds(memory)) {
    free_in_window(memory);
  } else {
    __libc_free(memory);
  }
}

[[gnu::visibility("default")]] int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  if (!std::has_single_bit(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const int error = errno;
  void* found = aligned(alignment, bytes);
  errno = error;
  if (found == nullptr) return ENOMEM;
  *memory = found;
  return 0;
}

[[gnu::visibility("default")]] void* aligned_alloc(size_t alignment, size_t bytes) {
  if (std::has_single_bit(alignment)) return aligned(alignment, bytes);
  errno = EINVAL;
  return nullptr;
}

[[gnu::visibility("default")]] void* memalign(size_t alignment, size_t bytes) {
  if (alignment <= SIZE_MAX / 2) return aligned(std::bit_ceil(alignment), bytes);
  errno = EINVAL;
  return nullptr;
}

// Blocks of the slice begin at a page.
[[gnu::visibility("default")]] void* valloc(size_t bytes) {
  void* memory = blocks.wants(bytes) ? blocks.allocate(bytes, 1, false) : nullptr;
  return memory != nullptr ? memory : __libc_valloc(bytes);
}

// To the end of its last page, which a block of the slice has anyway.
[[gnu::visibility("default")]] void* pvalloc(size_t bytes) {
  void* memory = blocks.wants(bytes) ? blocks.allocate(bytes, 1, false) : nullptr;
  return memory != nullptr ? memory : __libc_pvalloc(bytes);
}

[[gnu::visibility("default")]] size_t malloc_usable_size(void* memory) {
  return blocks.holds(memory) ? blocks.usable_bytes(memory) : private_usable_bytes(memory);
}

[[gnu::visibility("default")]] void hearth_heap_resume() {
  blocks.resume();
}

[[gnu::visibility("default")]] const char* hearth_heap_open_4(const Slice* slice) {
  if (!in_force()) return "the program has a malloc of its own";
  // Before the first block: without the handlers a child could wait for the lock forever.
  static const bool reopens = is_fork_safe && pthread_atfork(stop_sharing, nullptr, reopen_in_child) == 0;
  return reopens ? blocks.open(*slice) : "no memory";
}
}
