#include "heap/extents.h"

namespace hearth::heap {
namespace {

// Extents of one bin that a search compares; it takes the best of them.
constexpr int kCompared = 16;

uint32_t aligned_first(PageIndex first, uint32_t alignment, uint32_t offset) {
  return ((first + offset + alignment - 1) & ~(alignment - 1)) - offset;
}

}  // namespace

uint32_t Extents::bin_of(uint32_t pages) {
  if (pages < 8) return pages;
  const auto log2 = 31u - static_cast<uint32_t>(__builtin_clz(pages));
  return 8 + (log2 - 3) * 4 + ((pages >> (log2 - 2)) & 3);
}

uint32_t Extents::next_filled(const Bins& bins, uint32_t bin) {
  for (uint32_t word = bin / 64; word < 2; ++word) {
    const uint64_t bits = bins.filled[word] & (word == bin / 64 ? ~uint64_t{0} << bin % 64 : ~uint64_t{0});
    if (bits != 0) return word * 64 + static_cast<uint32_t>(__builtin_ctzll(bits));
  }
  return kBins;
}

void Extents::mark(PageIndex first, uint32_t pages, State state) {
  table_[first].pages = pages;
  table_[first].state = state;
  table_[first + pages - 1].pages_back = pages;
}

void Extents::link_by_size(PageIndex first) {
  Page& page = table_[first];
  const uint32_t bin = bin_of(page.pages);
  Bins& lists = bins(page.state);
  page.bin_previous = 0;
  page.bin_next = lists.head[bin];
  if (page.bin_next != 0) table_[page.bin_next].bin_previous = first;
  lists.head[bin] = first;
  lists.filled[bin / 64] |= uint64_t{1} << bin % 64;
}

void Extents::unlink_by_size(PageIndex first) {
  const Page& page = table_[first];
  const uint32_t bin = bin_of(page.pages);
  Bins& lists = bins(page.state);
  (page.bin_previous != 0 ? table_[page.bin_previous].bin_next : lists.head[bin]) = page.bin_next;
  if (page.bin_next != 0) table_[page.bin_next].bin_previous = page.bin_previous;
  if (lists.head[bin] == 0) lists.filled[bin / 64] &= ~(uint64_t{1} << bin % 64);
}

// Makes a free extent of pages that are in use. Pre: no neighbour to merge it with.
void Extents::insert(PageIndex first, uint32_t pages, State state) {
  mark(first, pages, state);
  link_by_size(first);
  if (state != State::resident) return;
  Page& page = table_[first];
  resident_pages_ += pages;
  page.age_next = 0;
  page.age_previous = newest_;
  (newest_ != 0 ? table_[newest_].age_next : oldest_) = first;
  newest_ = first;
}

// Makes a free extent one in use.
void Extents::remove(PageIndex first) {
  unlink_by_size(first);
  Page& page = table_[first];
  if (page.state == State::resident) {
    resident_pages_ -= page.pages;
    (page.age_previous != 0 ? table_[page.age_previous].age_next : oldest_) = page.age_next;
    (page.age_next != 0 ? table_[page.age_next].age_previous : newest_) = page.age_previous;
  }
  page.state = State::used;
}

void Extents::add(PageIndex first, uint32_t pages) {
  mark(first, pages, State::used);
  release(first, State::empty);
}

void Extents::release(PageIndex first, State state) {
  uint32_t pages = table_[first].pages;
  const PageIndex next = first + pages;
  if (table_[next].state == state) {
    pages += table_[next].pages;
    remove(next);
    table_[next].state = State::none;
  }
  // An extent that ends in front of this one, or 0 where pages are not managed.
  const uint32_t before = table_[first - 1].pages_back;
  if (before != 0 && table_[first - before].state == state) {
    table_[first].state = State::none;
    first -= before;
    pages += before;
    remove(first);
  }
  insert(first, pages, state);
}

PageIndex Extents::find(const Bins& lists, uint32_t pages, uint32_t alignment, uint32_t offset) const {
  for (uint32_t bin = next_filled(lists, bin_of(pages)); bin < kBins; bin = next_filled(lists, bin + 1)) {
    PageIndex best = 0;
    int compared = 0;
    for (PageIndex first = lists.head[bin]; first != 0 && compared < kCompared;
         first = table_[first].bin_next) {
      ++compared;
      const uint32_t skipped = aligned_first(first, alignment, offset) - first;
      if (table_[first].pages < skipped || table_[first].pages - skipped < pages) continue;
      if (best == 0 || table_[first].pages < table_[best].pages) best = first;
    }
    if (best != 0) return best;
  }
  return 0;
}

// Resident pages that are too few, with the empty pages behind them: fewer page faults than empty pages
// alone.
bool Extents::take_joined(uint32_t pages, Extent& extent) {
  int compared = 0;
  for (PageIndex first = newest_; first != 0 && compared < kCompared; first = table_[first].age_previous) {
    ++compared;
    const uint32_t resident = table_[first].pages;
    const PageIndex next = first + resident;
    if (resident < pages / 2 || table_[next].state != State::empty || table_[next].pages < pages - resident)
      continue;
    remove(first);
    extent.resident = resident;
    Extent appended;
    return extend(extent.first = first, extent.pages = pages, appended);
  }
  return false;
}

bool Extents::take(uint32_t pages, uint32_t alignment, uint32_t offset, Extent& extent) {
  State state = State::resident;
  PageIndex first = find(resident_, pages, alignment, offset);
  if (first == 0) {
    if (alignment == 1 && take_joined(pages, extent)) return true;
    state = State::empty;
    first = find(empty_, pages, alignment, offset);
  }
  if (first == 0) return false;
  remove(first);
  const PageIndex from = aligned_first(first, alignment, offset);
  if (from != first) {
    split(first, from - first);
    insert(first, from - first, state);
  }
  if (table_[from].pages > pages) {
    const PageIndex rest = split(from, pages);
    insert(rest, table_[rest].pages, state);
  }
  extent = {from, pages, state == State::resident ? pages : 0};
  return true;
}

// A resident neighbour, an empty one, or one of each in this order.
uint32_t Extents::free_pages_behind(PageIndex first) const {
  const PageIndex next = first + table_[first].pages;
  const uint32_t resident = table_[next].state == State::resident ? table_[next].pages : 0;
  const PageIndex behind = next + resident;
  return resident + (table_[behind].state == State::empty ? table_[behind].pages : 0);
}

bool Extents::extend(PageIndex first, uint32_t pages, Extent& appended) {
  const uint32_t former = table_[first].pages;
  if (free_pages_behind(first) < pages - former) return false;
  appended = {first + former, pages - former, 0};
  PageIndex end = appended.first;
  State rest_state = State::none;
  while (end < first + pages) {
    rest_state = table_[end].state;
    const uint32_t taken = table_[end].pages;
    if (rest_state == State::resident) appended.resident = taken;
    remove(end);
    table_[end].state = State::none;
    end += taken;
  }
  mark(first, end - first, State::used);
  if (end > first + pages) {
    const PageIndex rest = split(first, pages);
    insert(rest, table_[rest].pages, rest_state);
  }
  if (appended.resident > appended.pages) appended.resident = appended.pages;
  return true;
}

PageIndex Extents::split(PageIndex first, uint32_t pages) {
  const uint32_t rest = table_[first].pages - pages;
  mark(first, pages, State::used);
  mark(first + pages, rest, State::used);
  return first + pages;
}

bool Extents::take_oldest(uint32_t pages, Extent& extent) {
  const PageIndex first = oldest_;
  if (first == 0) return false;
  const uint32_t all = table_[first].pages;
  if (all <= pages) {
    remove(first);
    extent = {first, all, all};
    return true;
  }
  // The remaining pages keep their age.
  unlink_by_size(first);
  extent = {split(first, all - pages), pages, pages};
  table_[first].state = State::resident;
  link_by_size(first);
  resident_pages_ -= pages;
  return true;
}

}  // namespace hearth::heap
