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
// What a processor reaches with small pages before it has to look up where they are.
constexpr size_t kSmallPagesReach = size_t{8} << 20;
// How long huge pages are not tried after a refusal.
constexpr uint64_t kPauseNs = 100'000'000;
// Pages that stand for all of a block.
constexpr size_t kSamples = 16;
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

// Populates whole huge pages from `next` on; where it stopped. Once the system has refused one, because
// memory is fragmented or the kernel too old, small pages serve for a while.
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

// Huge pages first: one page table entry and one call for 512 pages. They need an aligned range, Linux 6.1,
// and contiguous memory; the rest is populated with small pages. That the window's offset in the file and its
// address agree in their last 21 bits is the doing of os::reserve_shared().
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
  if (hearth_heap_open_4 == nullptr || wish == "0") return nullptr;
  take_out_of_preloads();
  const bool bounded = wish == "bounded";
  // Not an explicit request, so the reason is not reported.
  if (!arena.usable()) return bounded ? nullptr : arena.reason().c_str();
  heap::Window window = {.context = &arena,
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
    window.bytes_max = static_cast<size_t>(param::get_bytes(Id::share_heap_bytes_max));
    if (os::only_private_memory_gets_huge_pages()) {
      window.bytes_max = std::min(window.bytes_max, kSmallPagesReach);
    }
    bytes_left = static_cast<uint64_t>(param::get_bytes(Id::share_heap_bytes_total));
    window.idle_bytes_max = static_cast<size_t>(param::get_bytes(Id::share_heap_bytes_idle));
  }
  const char* const why_not = hearth_heap_open_4(&window);
  if (why_not == nullptr) arena.set_on_private_message(hearth_heap_resume);
  return bounded ? nullptr : why_not;
}

}  // namespace hearth::abi
