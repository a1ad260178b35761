// The C library's allocation functions. Each asks whether it is asked for enough to be shared; everything
// else is jemalloc's. operator new and delete come here as well, by way of the C++ library.
//
// Where the program brings a malloc of its own, this one is not in force and keeps out of the way: the
// program may have left other functions of the family as they are in the C library.
#include "heap/malloc.h"

#include <bit>
#include <cerrno>

#include "base/atomic.h"
#include "heap/heap.h"
#include "heap/jemalloc.h"
#include "heap/shared_arenas.h"

extern "C" {
// The C library's own, which it exports for allocators.
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* memory);
}

namespace hearth::heap {
namespace {

constexpr size_t kPage = 4096;  // what valloc and pvalloc promise

bool is_long(size_t bytes) {
  // Pairs with the store in make_shared_arenas: the arenas are there.
  return __builtin_expect(bytes >= atomic::load_acquire(shared_bytes_min), 0);
}
bool is_shared(size_t bytes) {
  return is_long(bytes) && bytes <= shared_bytes_max;
}

enum class Force : unsigned char { unknown = 0, ours, another };
Force force = Force::unknown;  // atomic; the same for every thread that finds it out

// No allocator has so much; asked of whatever is named malloc it shows whether that is ours. (Its address
// does not: a program that is not position-independent has one of its own for every function that it points
// to.)
constexpr size_t kQuestion = SIZE_MAX;
bool was_asked = false;  // atomic

[[gnu::noinline, gnu::cold]] bool find_out() {
  const int error = errno;
  named_malloc()(kQuestion);
  errno = error;
  const Force found = atomic::load_relaxed(was_asked) ? Force::ours : Force::another;
  atomic::store_relaxed(force, found);
  return found == Force::ours;
}

bool in_force() {
  return __builtin_expect(atomic::load_relaxed(force) == Force::ours, 1) || find_out();
}

void* shared(size_t bytes, int flags) {
  return jemalloc_mallocx(bytes, shared_arena() | flags);
}

// Pre: alignment is a power of two.
void* aligned(size_t alignment, size_t bytes) {
  if (!in_force()) return __libc_memalign(alignment, bytes);
  // The alignment may take it into a size class that is shared; 0: more than there is.
  if (is_shared(jemalloc_nallocx(bytes > 0 ? bytes : 1, aligned_to(alignment)))) {
    if (void* memory = shared(bytes > 0 ? bytes : 1, aligned_to(alignment)); memory != nullptr) return memory;
  }
  return jemalloc_memalign(alignment, bytes);
}

}  // namespace
}  // namespace hearth::heap

using namespace hearth::heap;  // NOLINT: the functions below belong to no namespace

extern "C" {

void* hearth_heap_malloc(size_t bytes) {
  // The least that is long lies below the question: it costs nothing here.
  if (is_long(bytes)) {
    if (bytes == kQuestion) {
      hearth::atomic::store_relaxed(was_asked, true);
      errno = ENOMEM;
      return nullptr;
    }
    // Null when the window is used up; then private memory may do.
    void* memory = bytes <= shared_bytes_max ? shared(bytes, 0) : nullptr;
    if (memory != nullptr) return memory;
  }
  return jemalloc_malloc(bytes);
}
[[gnu::visibility("default"), gnu::alias("hearth_heap_malloc")]] void* malloc(size_t bytes);

[[gnu::visibility("default")]] void* calloc(size_t count, size_t bytes) {
  if (!in_force()) return __libc_calloc(count, bytes);
  size_t all = 0;
  if (!__builtin_mul_overflow(count, bytes, &all) && is_shared(all)) {
    if (void* memory = shared(all, kZeroed); memory != nullptr) return memory;
  }
  return jemalloc_calloc(count, bytes);
}

[[gnu::visibility("default")]] void* realloc(void* memory, size_t bytes) {
  if (!in_force()) return __libc_realloc(memory, bytes);
  if (is_shared(bytes)) {
    void* moved = memory == nullptr ? shared(bytes, 0) : jemalloc_rallocx(memory, bytes, shared_arena());
    if (moved != nullptr) return moved;
  }
  return jemalloc_realloc(memory, bytes);
}

[[gnu::visibility("default")]] void free(void* memory) {
  if (in_force()) {
    jemalloc_free(memory);
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

[[gnu::visibility("default")]] void* valloc(size_t bytes) {
  return aligned(kPage, bytes);
}

[[gnu::visibility("default")]] void* pvalloc(size_t bytes) {
  if (bytes <= SIZE_MAX - kPage) return aligned(kPage, (bytes + kPage - 1) / kPage * kPage);
  errno = ENOMEM;
  return nullptr;
}

// 0, which says nothing, of memory that is not ours.
[[gnu::visibility("default")]] size_t malloc_usable_size(void* memory) {
  return in_force() ? jemalloc_malloc_usable_size(memory) : 0;
}

[[gnu::visibility("default")]] const char* hearth_heap_open_2(const Window* window) {
  if (!in_force()) return "the program has a malloc of its own";
  if (hearth::atomic::load_relaxed(shared_bytes_min) != SIZE_MAX) return "it is open already";
  return make_shared_arenas(*window);
}
}
