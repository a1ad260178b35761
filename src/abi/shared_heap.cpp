#include "abi/shared_heap.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/atomic.h"
#include "base/os_memory.h"
#include "base/param.h"
#include "heap/heap.h"

namespace hearth::abi {
namespace {

constexpr size_t kHugePageBytes = size_t{2} << 20;
// What a processor reaches with small pages before it has to look up where they are.
constexpr size_t kSmallPagesReach = size_t{8} << 20;
constexpr const char* kLibrary = "/libhearth_heap.so";

// Bytes that the heap may yet take of the window; atomic, one for the process as the heap is.
uint64_t bytes_left = UINT64_MAX;

bool take_share(size_t bytes) {
  for (;;) {
    const uint64_t left = atomic::load_relaxed(bytes_left);
    if (bytes > left) return false;
    if (atomic::compare_exchange(bytes_left, left, left - bytes)) return true;
  }
}

std::byte* grow(void* context, size_t bytes, size_t alignment) {
  auto& arena = *static_cast<shm::Arena*>(context);
  if (!take_share(bytes)) return nullptr;
  if (bytes >= kHugePageBytes) alignment = std::max(alignment, kHugePageBytes);
  std::byte* piece = arena.grow(bytes, alignment);
  if (piece == nullptr) return nullptr;
  arena.show_in_core_files(piece, bytes);
  if (bytes >= kHugePageBytes) os::prefer_huge_pages(piece, bytes);
  return piece;
}

bool give_back(void* context, std::byte* from, size_t bytes) {
  return static_cast<shm::Arena*>(context)->give_back(from, bytes);
}

bool reachable(void* context) {
  return static_cast<shm::Arena*>(context)->reachable();
}

// Sanitizers, for one, do not like libraries loaded in front of them.
void take_out_of_preloads() {
  const char* preloads = std::getenv("LD_PRELOAD");
  if (preloads == nullptr) return;
  std::string rest;
  const std::string all = preloads;
  for (size_t start = 0; start < all.size();) {
    const size_t end = std::min(all.find_first_of(": ", start), all.size());
    const std::string entry = all.substr(start, end - start);
    if (!entry.empty() && !entry.ends_with(kLibrary)) rest += (rest.empty() ? "" : ":") + entry;
    start = end + 1;
  }
  if (rest.empty()) {
    unsetenv("LD_PRELOAD");
  } else {
    setenv("LD_PRELOAD", rest.c_str(), 1);
  }
}

}  // namespace

const char* share_heap(shm::Arena& arena) {
  using param::Id;
  const std::string& wish = param::get_text(Id::share_heap);
  if (hearth_heap_open_2 == nullptr || wish == "0") return nullptr;
  take_out_of_preloads();
  const bool bounded = wish == "bounded";
  // Nobody has asked for it in so many words: nobody is told.
  if (!arena.usable()) return bounded ? nullptr : arena.reason().c_str();
  heap::Window window = {
      &arena,  grow, give_back, reachable, static_cast<size_t>(param::get_bytes(Id::share_heap_bytes_min)),
      SIZE_MAX};
  if (bounded) {
    window.bytes_max = static_cast<size_t>(param::get_bytes(Id::share_heap_bytes_max));
    if (os::only_private_memory_gets_huge_pages()) {
      window.bytes_max = std::min(window.bytes_max, kSmallPagesReach);
    }
    bytes_left = static_cast<uint64_t>(param::get_bytes(Id::share_heap_bytes_total));
  }
  const char* const why_not = hearth_heap_open_2(&window);
  return bounded ? nullptr : why_not;
}

}  // namespace hearth::abi
