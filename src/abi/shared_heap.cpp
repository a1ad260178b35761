#include "abi/shared_heap.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/atomic.h"
#include "base/os_memory.h"
#include "base/os_wait.h"
#include "base/param.h"
#include "heap/heap.h"

namespace hearth::abi {
namespace {

constexpr size_t kHugePageBytes = size_t{2} << 20;
// About the reach of a processor's TLB with small pages.
constexpr size_t kSmallPagesReach = size_t{8} << 20;
// Pause after the system has refused a huge page.
constexpr uint64_t kPauseNs = 100'000'000;
// Number of pages of a block that is_present() samples.
constexpr size_t kSamples = 16;
constexpr const char* kLibrary = "/libhearth_heap.so";

// Bytes that the heap may still take from the arena slice. Atomic. One per process, like the heap.
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
  std::byte* piece = arena.grow(shm::Arena::Half::heap, bytes, alignment);
  if (piece == nullptr) {
    atomic::fetch_add(bytes_left, uint64_t{bytes});
    return nullptr;
  }
  arena.show_in_core_files(piece, bytes);
  if (bytes >= kHugePageBytes) os::prefer_huge_pages(piece, bytes);
  return piece;
}

bool give_back(void* context, std::byte* from, size_t bytes) {
  return static_cast<shm::Arena*>(context)->give_back(from, bytes);
}

// Populates whole huge pages from `next` on and returns the end of the populated range. After the system has
// refused a huge page, because memory is fragmented or the kernel is too old, small pages are used for
// kPauseNs.
std::byte* populate_huge(std::byte* next, const std::byte* end) {
  static uint64_t paused_until_ns = 0;  // atomic
  if (os::now_ns() < atomic::load_relaxed(paused_until_ns)) return next;
  for (; end - next >= static_cast<ptrdiff_t>(kHugePageBytes); next += kHugePageBytes) {
    if (os::populate_huge_page(next)) continue;
    atomic::store_relaxed(paused_until_ns, os::now_ns() + kPauseNs);
    break;
  }
  return next;
}

// Huge pages first: one page table entry and one call replace 512. They need an aligned range, Linux 6.1, and
// contiguous memory; the rest is populated with small pages. os::reserve_shared() ensures that the file
// offset of the slice and its address agree in their last 21 bits.
void populate(void* context, std::byte* from, size_t bytes) {
  std::byte* const end = from + bytes;
  const size_t before =
      (kHugePageBytes - reinterpret_cast<uintptr_t>(from) % kHugePageBytes) % kHugePageBytes;
  if (before + kHugePageBytes > bytes || !static_cast<shm::Arena*>(context)->heap_is_shared()) {
    os::populate_pages(from, bytes);
    return;
  }
  std::byte* const next = populate_huge(from + before, end);
  if (before > 0) os::populate_pages(from, before);
  if (next < end) os::populate_pages(next, static_cast<size_t>(end - next));
}

bool is_present(void*, const std::byte* from, size_t bytes) {
  const size_t step = std::max(bytes / kSamples, os::page_bytes());
  for (size_t offset = 0; offset < bytes; offset += step) {
    if (!os::is_page_present(from + offset)) return false;
  }
  return os::is_page_present(from + bytes - 1);
}

uint64_t exposures(void* context) {
  return static_cast<shm::Arena*>(context)->heap_exposures();
}

bool is_reachable(void* context) {
  return static_cast<shm::Arena*>(context)->heap_is_reachable();
}

void before_fork(void* context) {
  static_cast<shm::Arena*>(context)->take_heap_back();
}

// Removes the library from LD_PRELOAD for the programs that this process starts: sanitized programs, for
// example, reject libraries that are loaded before the sanitizer's.
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
  if (hearth_heap_open_4 == nullptr || wish == "0") return nullptr;
  take_out_of_preloads();
  const bool bounded = wish == "bounded";
  // Sharing by default (`bounded`) is not an explicit request, so the reason is not reported.
  if (!arena.usable()) return bounded ? nullptr : arena.reason().c_str();
  heap::Slice slice = {.context = &arena,
                       .begin = arena.begin_of(shm::Arena::Half::heap),
                       .bytes = arena.half_bytes(),
                       .page_bytes = os::page_bytes(),
                       .bytes_min = static_cast<size_t>(param::get_bytes(Id::share_heap_bytes_min)),
                       .bytes_max = SIZE_MAX,
                       .kept_bytes_max = static_cast<size_t>(param::get_bytes(Id::share_heap_bytes_kept)),
                       .idle_bytes_max = SIZE_MAX,
                       .grow = grow,
                       .give_back = give_back,
                       .exposures = exposures,
                       .populate = populate,
                       .is_present = is_present,
                       .before_fork = before_fork,
                       .is_reachable = is_reachable,
                       .reserve = os::reserve,
                       .commit = os::commit,
                       .now_ns = os::now_ns};
  if (bounded) {
    slice.bytes_max = static_cast<size_t>(param::get_bytes(Id::share_heap_bytes_max));
    if (os::only_private_memory_gets_huge_pages()) {
      slice.bytes_max = std::min(slice.bytes_max, kSmallPagesReach);
    }
    bytes_left = static_cast<uint64_t>(param::get_bytes(Id::share_heap_bytes_total));
    slice.idle_bytes_max = static_cast<size_t>(param::get_bytes(Id::share_heap_bytes_idle));
  }
  const char* const why_not = hearth_heap_open_4(&slice);
  if (why_not == nullptr) arena.set_on_private_message(hearth_heap_resume);
  return bounded ? nullptr : why_not;
}

}  // namespace hearth::abi
