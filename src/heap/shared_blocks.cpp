#include "heap/shared_blocks.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace hearth::heap {
namespace {

constexpr size_t kHugePageBytes = size_t{2} << 20;
// Addresses that the heap takes of the slice at a time, at least, and as a share of what it has.
constexpr size_t kGrownBytesMin = size_t{4} << 20;
constexpr size_t kGrownShare = 8;
// Lower limit of the bound on resident free pages.
constexpr size_t kResidentBytesMin = size_t{1} << 20;
// For fewer bytes a call costs as much as the page faults.
constexpr size_t kPopulatedBytesMin = size_t{64} << 10;
// How long a touched and freed page counts as a sign that the program will touch the next one.
constexpr uint64_t kCreditNs = 1'000'000'000;

// Initial-exec: its address is known from the start, and finding it allocates nothing.
[[gnu::tls_model("initial-exec")]] thread_local bool holds_lock_for_fork = false;

}  // namespace

class SharedBlocks::Guard {
 public:
  explicit Guard(pthread_mutex_t& mutex) : mutex_(mutex) { lock(); }
  ~Guard() { unlock(); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  void lock() {
    if (!holds_lock_for_fork) pthread_mutex_lock(&mutex_);
  }
  void unlock() {
    if (!holds_lock_for_fork) pthread_mutex_unlock(&mutex_);
  }

 private:
  pthread_mutex_t& mutex_;
};

const char* SharedBlocks::open(const Slice& slice) {
  if (atomic::load_relaxed(bytes_min_) != SIZE_MAX || table_ != nullptr) return "it is open already";
  const size_t pages = std::min<size_t>(slice.bytes / slice.page_bytes, UINT32_MAX - 2);
  table_ = static_cast<Page*>(
      slice.reserve((pages + 2) * sizeof(Page) / slice.page_bytes * slice.page_bytes + slice.page_bytes));
  if (table_ == nullptr) return "no address space for its tables";
  slice_ = slice;
  slice_.bytes = pages * slice.page_bytes;
  extents_ = Extents(table_);
  // Pairs with the acquire load in wants(): the slice and the table are set.
  atomic::store_release(bytes_min_, bytes_min());
  return nullptr;
}

// Takes more addresses of the slice.
bool SharedBlocks::grow(size_t bytes, size_t alignment) {
  const size_t usual = std::max({bytes, kGrownBytesMin, atomic::load_relaxed(bytes_end_) / kGrownShare});
  const size_t rounded =
      (std::min(usual, slice_.bytes) + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  for (const size_t wanted : {rounded, bytes}) {
    std::byte* piece = slice_.grow(slice_.context, wanted, std::max(alignment, slice_.page_bytes));
    if (piece == nullptr) continue;
    const size_t end = offset_of(piece) + wanted;
    if (end > slice_.bytes) return false;
    // The entries of its pages and of one page on either side.
    const PageIndex first = index_of(piece);
    const uint32_t pages = pages_for(wanted);
    const size_t from = (first - 1) * sizeof(Page) / slice_.page_bytes * slice_.page_bytes;
    const size_t to = (first + pages + size_t{1}) * sizeof(Page);
    if (!slice_.commit(reinterpret_cast<std::byte*>(table_) + from,
                       (to - from + slice_.page_bytes - 1) / slice_.page_bytes * slice_.page_bytes)) {
      return false;
    }
    extents_.add(first, pages);
    atomic::store_relaxed(bytes_end_, std::max(atomic::load_relaxed(bytes_end_), end));
    return true;
  }
  return false;
}

bool SharedBlocks::take(uint32_t pages, size_t alignment, Extent& extent) {
  const auto step = static_cast<uint32_t>(std::max<size_t>(alignment / slice_.page_bytes, 1));
  // What makes a multiple of `step` of the index of a page with an aligned address.
  const auto offset =
      static_cast<uint32_t>(reinterpret_cast<uintptr_t>(slice_.begin) / slice_.page_bytes - 1);
  return extents_.take(pages, step, offset & (step - 1), extent);
}

bool SharedBlocks::take_or_grow(uint32_t pages, size_t alignment, Extent& extent) {
  if (take(pages, alignment, extent)) return true;
  if (grow(size_t{pages} * slice_.page_bytes, std::max(alignment, kHugePageBytes)) &&
      take(pages, alignment, extent))
    return true;
  // Resident and empty neighbours are never merged; when all are empty they are.
  trim(0);
  return take(pages, alignment, extent);
}

// How many of these new pages are populated in advance: all, if the credit covers at least half of them.
uint32_t SharedBlocks::covered_by_credit(uint32_t pages) {
  const size_t bytes = size_t{pages} * slice_.page_bytes;
  if (bytes < kPopulatedBytesMin || credit_bytes_ < bytes / 2) return 0;
  if (slice_.now_ns() - credit_ns_ > kCreditNs) credit_bytes_ = 0;
  if (credit_bytes_ < bytes / 2) return 0;
  credit_bytes_ -= std::min(credit_bytes_, bytes);
  return pages;
}

void* SharedBlocks::allocate(size_t bytes, size_t alignment, bool zeroed) {
  if (bytes > slice_.bytes || alignment > slice_.bytes) return nullptr;
  const int error = errno;
  Extent extent;
  uint32_t fresh = 0;
  {
    const Guard guard(mutex_);
    if (!take_or_grow(pages_for(bytes), alignment, extent)) {
      errno = error;
      return nullptr;
    }
    fresh = covered_by_credit(extent.pages - extent.resident);
    note_allocation(bytes);
  }
  std::byte* block = address_of(extent.first);
  const size_t resident = size_t{extent.resident} * slice_.page_bytes;
  if (fresh > 0) slice_.populate(slice_.context, block + resident, fresh * slice_.page_bytes);
  if (zeroed) std::memset(block, 0, std::min(resident, bytes));
  errno = error;
  return block;
}

void SharedBlocks::note_allocation(size_t bytes) {
  const uint64_t exposures = slice_.exposures(slice_.context);
  if (exposures != exposures_seen_) {
    exposures_seen_ = exposures;
    unexposed_bytes_ = 0;
  }
  unexposed_bytes_ += bytes;
  if (unexposed_bytes_ <= slice_.idle_bytes_max) return;
  atomic::store_relaxed(is_idle_, true);
  atomic::store_relaxed(bytes_min_, size_t{SIZE_MAX});
}

void SharedBlocks::end_idleness() {
  const Guard guard(mutex_);
  if (!is_idle_ || is_parents_) return;
  unexposed_bytes_ = 0;
  atomic::store_relaxed(is_idle_, false);
  // As in open().
  atomic::store_release(bytes_min_, bytes_min());
}

size_t SharedBlocks::resident_pages_max() const {
  const size_t least = std::min(kResidentBytesMin, slice_.kept_bytes_max) / slice_.page_bytes;
  return std::max(least, size_t{2} * freed_pages_max_);
}

// Gives the pages that have been free for the longest time back to the system. The lock is released
// meanwhile; the pages are in use then, so that no other thread takes them.
void SharedBlocks::trim(size_t pages_max) {
  while (!is_parents_ && extents_.resident_pages() > pages_max) {
    const size_t excess = extents_.resident_pages() - pages_max;
    Extent extent;
    if (!extents_.take_oldest(static_cast<uint32_t>(excess), extent)) return;
    std::byte* const from = address_of(extent.first);
    const size_t bytes = size_t{extent.pages} * slice_.page_bytes;
    ++giving_back_;
    if (!holds_lock_for_fork) pthread_mutex_unlock(&mutex_);
    const bool touched = slice_.is_present(slice_.context, from, bytes);
    const bool done = slice_.give_back(slice_.context, from, bytes);
    const uint64_t now = touched ? slice_.now_ns() : 0;
    if (!holds_lock_for_fork) pthread_mutex_lock(&mutex_);
    if (--giving_back_ == 0) pthread_cond_broadcast(&none_gives_back_);
    extents_.release(extent.first, done ? State::empty : State::resident);
    if (!done) return;
    if (!touched) continue;
    if (now - credit_ns_ > kCreditNs) credit_bytes_ = 0;
    credit_bytes_ += bytes;
    credit_ns_ = now;
  }
}

void SharedBlocks::release_resident(PageIndex first) {
  const uint32_t pages = extents_.pages_of(first);
  // A block of half the bound or more raises nothing.
  if (pages < slice_.kept_bytes_max / 2 / slice_.page_bytes)
    freed_pages_max_ = std::max(freed_pages_max_, pages);
  extents_.release(first, State::resident);
  trim(resident_pages_max());
}

PageIndex SharedBlocks::checked_index_of(const void* block) const {
  const PageIndex first = index_of(block);
  if (address_of(first) != block || !extents_.is_used(first)) {
    std::fputs("hearth: free or realloc of an address that malloc did not return, or that was freed before\n",
               stderr);
    std::abort();
  }
  return first;
}

size_t SharedBlocks::free(void* block) {
  const int error = errno;
  uint32_t before = 0;
  uint32_t after = 0;
  {
    const Guard guard(mutex_);
    const PageIndex first = checked_index_of(block);
    before = freed_pages_max_;
    release_resident(first);
    after = freed_pages_max_;
  }
  errno = error;
  return after > before ? size_t{after} * slice_.page_bytes : 0;
}

size_t SharedBlocks::usable_bytes(const void* block) const {
  // The caller owns the block: no other thread writes this entry.
  return size_t{extents_.pages_of(index_of(block))} * slice_.page_bytes;
}

bool SharedBlocks::resize(void* block, size_t bytes) {
  const int error = errno;
  bool done = true;
  {
    const Guard guard(mutex_);
    const PageIndex first = checked_index_of(block);
    const uint32_t pages = pages_for(bytes);
    const uint32_t former = extents_.pages_of(first);
    if (pages < former) {
      release_resident(extents_.split(first, pages));
    } else if (pages > former) {
      Extent appended;
      done = extents_.extend(first, pages, appended);
      // Where nothing is in use between the block and the end, the next addresses of the slice follow.
      const uint32_t reach = former + extents_.free_pages_behind(first);
      if (!done && (first + reach - size_t{1}) * slice_.page_bytes == atomic::load_relaxed(bytes_end_) &&
          grow(size_t{pages - reach} * slice_.page_bytes, slice_.page_bytes)) {
        done = extents_.extend(first, pages, appended);
      }
    }
  }
  errno = error;
  return done;
}

void SharedBlocks::stop_sharing() {
  const Guard guard(mutex_);
  while (giving_back_ > 0) pthread_cond_wait(&none_gives_back_, &mutex_);
  if (table_ != nullptr && !is_parents_) slice_.before_fork(slice_.context);
}

void SharedBlocks::lock_for_fork() {
  pthread_mutex_lock(&mutex_);
  holds_lock_for_fork = true;
}

void SharedBlocks::unlock_in_parent() {
  holds_lock_for_fork = false;
  pthread_mutex_unlock(&mutex_);
}

void SharedBlocks::unlock_in_child() {
  if (table_ != nullptr) {
    is_parents_ = true;
    atomic::store_relaxed(bytes_min_, size_t{SIZE_MAX});
  }
  unlock_in_parent();
}

void SharedBlocks::reopen_in_child() {
  if (table_ == nullptr || !slice_.is_reachable(slice_.context)) return;
  is_parents_ = false;
  if (!is_idle_) atomic::store_release(bytes_min_, bytes_min());
}

}  // namespace hearth::heap
