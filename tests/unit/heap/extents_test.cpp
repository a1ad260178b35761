// The bookkeeping of pages against a model: one entry for each page.
#include "heap/extents.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace hearth::heap {
namespace {

constexpr uint32_t kPages = 5000;

class Model {
 public:
  Model() : table_(kPages + 2), extents_(table_.data()), states_(kPages + 2, State::none) {}

  void add(PageIndex first, uint32_t pages) {
    extents_.add(first, pages);
    set(first, pages, State::empty);
  }

  bool take(uint32_t pages, uint32_t alignment) {
    const uint32_t offset = 3 & (alignment - 1);
    Extent extent;
    if (!extents_.take(pages, alignment, offset, extent)) {
      EXPECT_FALSE(has_run(pages, alignment, offset)) << pages << " pages are free";
      return false;
    }
    EXPECT_EQ((extent.first + offset) % alignment, 0u);
    EXPECT_EQ(extent.pages, pages);
    take_over(extent);
    used_[extent.first] = pages;
    return true;
  }

  void release(PageIndex first, State state) {
    extents_.release(first, state);
    set(first, used_[first], state);
    used_.erase(first);
  }

  void extend(PageIndex first, uint32_t pages) {
    Extent appended;
    if (!extents_.extend(first, pages, appended)) return;
    EXPECT_EQ(appended.first, first + used_[first]);
    EXPECT_EQ(appended.pages, pages - used_[first]);
    take_over(appended);
    used_[first] = pages;
  }

  void split(PageIndex first, uint32_t pages) {
    const PageIndex rest = extents_.split(first, pages);
    EXPECT_EQ(rest, first + pages);
    used_[rest] = used_[first] - pages;
    used_[first] = pages;
  }

  void empty_oldest(uint32_t pages) {
    Extent extent;
    if (!extents_.take_oldest(pages, extent)) {
      EXPECT_EQ(extents_.resident_pages(), 0u);
      return;
    }
    EXPECT_LE(extent.pages, pages);
    EXPECT_EQ(extent.resident, extent.pages);
    take_over(extent);
    used_[extent.first] = extent.pages;
    release(extent.first, State::empty);
  }

  PageIndex some_block(std::mt19937& random) const {
    auto block = used_.begin();
    std::advance(block, random() % used_.size());
    return block->first;
  }

  bool any_block() const { return !used_.empty(); }
  uint32_t pages_of(PageIndex first) const { return used_.at(first); }

  void check() const {
    size_t resident = 0;
    for (const State state : states_) resident += state == State::resident;
    EXPECT_EQ(extents_.resident_pages(), resident);
    for (const auto& [first, pages] : used_) {
      EXPECT_TRUE(extents_.is_used(first));
      EXPECT_EQ(extents_.pages_of(first), pages);
    }
  }

 private:
  void set(PageIndex first, uint32_t pages, State state) {
    for (PageIndex page = first; page < first + pages; ++page) states_[page] = state;
  }

  // Checks that the pages handed out were free, and in the state that the extent reports.
  void take_over(const Extent& extent) {
    for (PageIndex page = extent.first; page < extent.first + extent.pages; ++page) {
      EXPECT_EQ(states_[page], page < extent.first + extent.resident ? State::resident : State::empty)
          << page;
    }
    set(extent.first, extent.pages, State::used);
  }

  // Whether pages of a single state can satisfy the request.
  bool has_run(uint32_t pages, uint32_t alignment, uint32_t offset) const {
    for (const State kind : {State::resident, State::empty}) {
      uint32_t run = 0;
      for (PageIndex page = kPages; page > 0; --page) {
        run = states_[page] == kind ? run + 1 : 0;
        if (run >= pages && (page + offset) % alignment == 0 && whole_in(page, pages, kind)) return true;
      }
    }
    return false;
  }
  bool whole_in(PageIndex page, uint32_t pages, State kind) const {
    for (PageIndex next = page; next < page + pages; ++next) {
      if (next > kPages || states_[next] != kind) return false;
    }
    return true;
  }

  std::vector<Page> table_;
  Extents extents_;
  std::vector<State> states_;
  std::map<PageIndex, uint32_t> used_;
};

TEST(Extents, random_operations_agree_with_a_model) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Model model;
    model.add(1, 1000);
    model.add(1001, 1500);  // merges with the first extent
    model.add(2700, kPages - 2700 + 1);
    for (int step = 0; step < 1000 && !testing::Test::HasFailure(); ++step) {
      const uint32_t pages = 1 + random() % (random() % 8 == 0 ? 700 : 40);
      switch (model.any_block() ? random() % 8 : 0) {
        case 0:
        case 1:
        case 2:
          model.take(pages, 1u << (random() % 3 == 0 ? random() % 10 : 0));
          break;
        case 3:
        case 4:
          model.release(model.some_block(random), State::resident);
          break;
        case 5: {
          const PageIndex block = model.some_block(random);
          model.extend(block, model.pages_of(block) + pages);
          break;
        }
        case 6: {
          const PageIndex block = model.some_block(random);
          if (model.pages_of(block) > 1) model.split(block, 1 + random() % (model.pages_of(block) - 1));
          break;
        }
        default:
          model.empty_oldest(pages);
      }
      model.check();
    }
  }
}

TEST(Extents, everything_that_was_freed_is_one_extent_again) {
  Model model;
  model.add(1, kPages);
  std::mt19937 random(7);
  while (model.take(1 + random() % 50, 1)) {
  }
  while (model.any_block()) model.release(model.some_block(random), State::empty);
  EXPECT_TRUE(model.take(kPages, 1));
}

TEST(Extents, resident_pages_are_handed_out_before_empty_ones) {
  std::vector<Page> table(102);
  Extents extents(table.data());
  extents.add(1, 100);
  Extent first, second;
  ASSERT_TRUE(extents.take(10, 1, 0, first));
  EXPECT_EQ(first.resident, 0u);
  extents.release(first.first, State::resident);
  ASSERT_TRUE(extents.take(10, 1, 0, second));
  EXPECT_EQ(second.first, first.first);
  EXPECT_EQ(second.resident, 10u);
}

}  // namespace
}  // namespace hearth::heap
