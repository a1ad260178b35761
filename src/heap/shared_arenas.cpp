#include "heap/shared_arenas.h"

#include <pthread.h>

#include <cstdint>

#include "base/atomic.h"
#include "heap/jemalloc.h"

namespace hearth::heap {

size_t shared_bytes_min = SIZE_MAX;
size_t shared_bytes_max = 0;

extern "C" {
// A thread's own cache does not know of arenas: of what may be shared it would give out private memory that
// was freed there, and the other way round. So it keeps shorter blocks only.
const char* jemalloc_conf = "tcache_max:7168";
}

namespace {

// Threads are dealt out over a few, so that they seldom wait for each other.
constexpr uint32_t kArenas = 4;

Window the_window;
int arena_flags[kArenas];
uint32_t next_turn = 0;
// Initial-exec: its address is known from the start, and finding it allocates nothing.
[[gnu::tls_model("initial-exec")]] thread_local uint32_t turn_of_thread = 0;  // 0: no turn yet

void* take(ExtentHooks*, void* wanted, size_t bytes, size_t alignment, bool* zeroed, bool* committed,
           unsigned) {
  if (wanted != nullptr) return nullptr;  // the window grows where it grows
  std::byte* piece = the_window.grow(the_window.context, bytes, alignment);
  if (piece != nullptr) *zeroed = *committed = true;
  return piece;
}

// Gives the memory back, not the addresses: they come again when the arena needs some.
bool purge(ExtentHooks*, void* extent, size_t, size_t offset, size_t length, unsigned) {
  return !the_window.give_back(the_window.context, static_cast<std::byte*>(extent) + offset, length);
}

// Nothing of ours is kept about extents.
bool split(ExtentHooks*, void*, size_t, size_t, size_t, bool, unsigned) {
  return false;
}
bool merge(ExtentHooks*, void*, size_t, void*, size_t, bool, unsigned) {
  return false;
}

ExtentHooks hooks = {take, nullptr, nullptr, nullptr, nullptr, nullptr, purge, split, merge};

// "arena.N.extent_hooks"
void name_hooks_of(unsigned arena, char (&name)[40]) {
  char digits[12];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + arena % 10);
    arena /= 10;
  } while (arena != 0);
  char* to = name;
  for (const char* from = "arena."; *from != '\0'; ++from) *to++ = *from;
  while (count > 0) *to++ = digits[--count];
  for (const char* from = ".extent_hooks"; *from != '\0'; ++from) *to++ = *from;
  *to = '\0';
}

// What the arenas have kept lies in the window.
void stay_private() {
  if (!the_window.reachable(the_window.context)) atomic::store_relaxed(shared_bytes_min, SIZE_MAX);
}

// The smallest request that is given as much memory as one for `bytes` or more.
size_t least_of_its_size_class(size_t bytes) {
  size_t below = 0;
  size_t least = bytes > 0 ? bytes : 1;
  while (least - below > 1) {
    const size_t middle = below + (least - below) / 2;
    (jemalloc_nallocx(middle, 0) < bytes ? below : least) = middle;
  }
  return least;
}

}  // namespace

int shared_arena() {
  if (turn_of_thread == 0) turn_of_thread = 1 + atomic::fetch_add(next_turn, 1u) % kArenas;
  return arena_flags[turn_of_thread - 1];
}

const char* make_shared_arenas(const Window& window) {
  the_window = window;
  for (int& flags : arena_flags) {
    unsigned arena = 0;
    size_t bytes = sizeof arena;
    if (jemalloc_mallctl("arenas.create", &arena, &bytes, nullptr, 0) != 0) return "jemalloc makes no arena";
    // The hooks come second: what the arena keeps for itself then stays private memory, which a child made by
    // fork may change before it has its copy of the window.
    char name[40];
    name_hooks_of(arena, name);
    ExtentHooks* ours = &hooks;
    if (jemalloc_mallctl(name, nullptr, nullptr, &ours, sizeof ours) != 0) return "jemalloc takes no hooks";
    flags = in_arena(arena);
  }
  if (pthread_atfork(nullptr, nullptr, stay_private) != 0) return "no memory";
  shared_bytes_max = window.bytes_max;
  // Pairs with the load in is_long (malloc.cpp): whoever sees it sees the arenas.
  atomic::store_release(shared_bytes_min, least_of_its_size_class(window.bytes_min));
  return nullptr;
}

}  // namespace hearth::heap
