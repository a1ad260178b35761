#include "p2p/prefault.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/os_memory.h"

namespace hearth::p2p {
namespace {

constexpr size_t kBytes = size_t{4} << 20;

/// Memory that has never been touched.
class Untouched {
 public:
  explicit Untouched(size_t bytes)
      : bytes_(bytes), memory_(static_cast<std::byte*>(os::map_private(bytes))) {}
  ~Untouched() { os::release(memory_, bytes_); }
  Untouched(const Untouched&) = delete;
  Untouched& operator=(const Untouched&) = delete;

  std::byte* data() { return memory_; }
  bool present(size_t at) const { return os::is_page_present(memory_ + at); }
  size_t pages_present() const {
    size_t pages = 0;
    for (size_t at = 0; at < bytes_; at += os::page_bytes()) pages += present(at) ? 1 : 0;
    return pages;
  }

 private:
  const size_t bytes_;
  std::byte* const memory_;
};

TEST(Prefault, short_messages_are_left_alone) {
  Untouched memory(kBytes);
  Prefault prefault(memory.data(), Prefault::kBytesMin - 1);
  EXPECT_FALSE(prefault.any());
  EXPECT_EQ(memory.pages_present(), 0u);
}

TEST(Prefault, pages_that_are_there_are_left_alone) {
  Untouched memory(kBytes);
  std::memset(memory.data(), 7, kBytes);
  // A context switch at this moment looks like a page fault.
  int taken_for_fresh = 0;
  for (int n = 0; n < 20; ++n) taken_for_fresh += Prefault(memory.data(), kBytes).any() ? 1 : 0;
  EXPECT_LT(taken_for_fresh, 20);
  EXPECT_EQ(memory.data()[kBytes / 2], std::byte{7});
}

TEST(Prefault, fresh_ones_come_ahead_of_the_copy_and_none_outside_of_the_message) {
  const size_t page = os::page_bytes();
  Untouched memory(kBytes);
  std::byte* const to = memory.data() + page + 100;
  const size_t bytes = kBytes / 2;
  Prefault prefault(to, bytes);
  if (!prefault.any()) GTEST_SKIP() << "a fault is too fast here to be told from a store";
  prefault.prepare(1000);
  prefault.prepare(kBytes / 8);
  if (!prefault.any()) GTEST_SKIP() << "this kernel populates nothing";
  EXPECT_FALSE(memory.present(0));
  EXPECT_FALSE(memory.present(page)) << "not wholly in the buffer";
  EXPECT_TRUE(memory.present(2 * page));
  EXPECT_TRUE(memory.present(kBytes / 8));
  EXPECT_FALSE(memory.present(kBytes / 4 + page)) << "too far ahead";
  prefault.prepare(bytes);
  EXPECT_FALSE(prefault.any());
  EXPECT_TRUE(memory.present(kBytes / 2));
  EXPECT_FALSE(memory.present(kBytes / 2 + page)) << "behind the message";
}

}  // namespace
}  // namespace hearth::p2p
