// Bookkeeping of the shared part of the heap: which pages of the window are in use, and which are free.
//
// An extent is a run of pages: one block in use, or one stretch of free pages. Free extents are of two kinds.
// Resident pages hold old data and are handed out again without a page fault. Empty pages have no memory
// behind them and read as zeros. Free neighbours of one kind are merged.
//
//   pages   |  used, 3 pages  |  resident, 2  |  empty, 4 ...
//   table   | 3 . 3           | 2 2           | 4 . . 4          pages and pages_back of each extent
//
// The table is private memory; nothing is stored in the pages themselves.
//
// Pure: no lock, no system call, no allocation. The caller serializes all calls (shared_blocks.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::heap {

enum class State : uint32_t { none = 0, used, resident, empty };

/// Number of the page that an extent begins with; 0 is no page.
using PageIndex = uint32_t;

struct Page {
  uint32_t pages;       // of the extent that begins here
  uint32_t pages_back;  // of the extent that ends here
  State state;          // of the extent that begins here
  PageIndex bin_next, bin_previous;
  PageIndex age_next, age_previous;  // resident extents only, in the order in which they became free
};

struct Extent {
  PageIndex first = 0;
  uint32_t pages = 0;
  uint32_t resident = 0;  // number of its first pages that hold old data; the others are zeros
};

class Extents {
 public:
  /// The entries of managed pages, and of the pages before and behind them, must be readable and zero at
  /// first.
  constexpr explicit Extents(Page* table) : table_(table) {}

  /// Adds empty pages that were not managed before. Pre: first > 0, pages > 0.
  void add(PageIndex first, uint32_t pages);
  /// Hands out pages, resident ones where they fit. `first` + `offset` is a multiple of `alignment`, a power
  /// of two that is greater than `offset`. False when no extent is large enough.
  bool take(uint32_t pages, uint32_t alignment, uint32_t offset, Extent& extent);
  /// Takes an extent back. Pre: it is in use.
  void release(PageIndex first, State state);
  /// Lets an extent in use grow to this number of pages; `appended` are the new ones. False when they are not
  /// free.
  bool extend(PageIndex first, uint32_t pages, Extent& appended);
  /// Splits an extent in use: its first `pages` stay, the rest becomes an extent in use that follows it.
  PageIndex split(PageIndex first, uint32_t pages);
  /// Takes up to this number of pages off the end of the resident extent that has been free for the longest
  /// time. False when there is none.
  bool take_oldest(uint32_t pages, Extent& extent);

  /// Pages by which extend() can let an extent grow.
  uint32_t free_pages_behind(PageIndex first) const;

  uint32_t pages_of(PageIndex first) const { return table_[first].pages; }
  bool is_used(PageIndex first) const { return table_[first].state == State::used; }
  size_t resident_pages() const { return resident_pages_; }

 private:
  // Bins: one for each page count below 8, then four for each power of two.
  static constexpr uint32_t kBins = 8 + 4 * 29;
  struct Bins {
    PageIndex head[kBins] = {};
    uint64_t filled[2] = {};
  };

  static uint32_t bin_of(uint32_t pages);
  Bins& bins(State state) { return state == State::resident ? resident_ : empty_; }
  static uint32_t next_filled(const Bins& bins, uint32_t bin);
  void mark(PageIndex first, uint32_t pages, State state);
  void link_by_size(PageIndex first);
  void unlink_by_size(PageIndex first);
  void insert(PageIndex first, uint32_t pages, State state);
  void remove(PageIndex first);
  PageIndex find(const Bins& bins, uint32_t pages, uint32_t alignment, uint32_t offset) const;
  bool take_joined(uint32_t pages, Extent& extent);

  Page* table_;
  Bins resident_;
  Bins empty_;
  PageIndex oldest_ = 0;
  PageIndex newest_ = 0;
  size_t resident_pages_ = 0;
};

}  // namespace hearth::heap
