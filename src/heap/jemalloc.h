// jemalloc as it is linked here: its malloc and friends under names of their own (CMakeLists.txt renames
// them), so that the C library's names are ours; and of its extended interface what we use. Its own header
// would declare the former names.
#pragma once

#include <cstddef>

extern "C" {
void* jemalloc_malloc(size_t bytes);
void* jemalloc_calloc(size_t count, size_t bytes);
void* jemalloc_realloc(void* memory, size_t bytes);
void jemalloc_free(void* memory);
int jemalloc_posix_memalign(void** memory, size_t alignment, size_t bytes);
void* jemalloc_memalign(size_t alignment, size_t bytes);
size_t jemalloc_malloc_usable_size(void* memory);

void* jemalloc_mallocx(size_t bytes, int flags);
void* jemalloc_rallocx(void* memory, size_t bytes, int flags);
size_t jemalloc_nallocx(size_t bytes, int flags);  // bytes that such an allocation would really have
/// Settings that MALLOC_CONF in the environment may change. Read before anything is allocated.
extern const char* jemalloc_conf;
int jemalloc_mallctl(const char* name, void* old_value, size_t* old_bytes, void* new_value, size_t new_bytes);
}

namespace hearth::heap {

// Flags of mallocx and rallocx, as jemalloc's manual has them.
constexpr int kZeroed = 0x40;
constexpr int in_arena(unsigned arena) {
  return static_cast<int>((arena + 1) << 20);
}
constexpr int aligned_to(size_t alignment) {
  return __builtin_ctzl(alignment);
}

/// Where an arena gets its memory from: jemalloc's extent_hooks_t. The last five may be null, which declines.
struct ExtentHooks {
  void* (*alloc)(ExtentHooks*, void* wanted, size_t bytes, size_t alignment, bool* zeroed, bool* committed,
                 unsigned arena);
  bool (*dalloc)(ExtentHooks*, void*, size_t bytes, bool committed, unsigned arena);
  void (*destroy)(ExtentHooks*, void*, size_t bytes, bool committed, unsigned arena);
  bool (*commit)(ExtentHooks*, void*, size_t bytes, size_t offset, size_t length, unsigned arena);
  bool (*decommit)(ExtentHooks*, void*, size_t bytes, size_t offset, size_t length, unsigned arena);
  bool (*purge_lazy)(ExtentHooks*, void*, size_t bytes, size_t offset, size_t length, unsigned arena);
  bool (*purge_forced)(ExtentHooks*, void*, size_t bytes, size_t offset, size_t length, unsigned arena);
  bool (*split)(ExtentHooks*, void*, size_t bytes, size_t first, size_t second, bool committed,
                unsigned arena);
  bool (*merge)(ExtentHooks*, void*, size_t first, void*, size_t second, bool committed, unsigned arena);
};

}  // namespace hearth::heap
