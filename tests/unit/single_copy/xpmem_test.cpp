// XPMEM on a fake device, which attaches this process's memory to itself, counts, and can refuse.
#include "single_copy/xpmem.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>
#include <vector>

namespace hearth::single_copy {
namespace {

constexpr int64_t kSegment = 77;
constexpr size_t kWindow = 8192;

uint64_t address_of(const void* place) {
  return reinterpret_cast<uint64_t>(place);
}

class OwnMemory final : public os::XpmemDevice {
 public:
  int64_t publish() override { return kSegment; }
  int64_t open(int64_t segment) override {
    ++opened;
    return segment == kSegment ? 5 : 0;
  }
  std::byte* attach(int64_t access, uint64_t address, size_t bytes) override {
    EXPECT_EQ(access, 5);
    EXPECT_EQ(address % kWindow, 0u) << "windows begin at multiples of their length";
    EXPECT_EQ(bytes, kWindow);
    if (refuses) return nullptr;
    ++attached;
    EXPECT_TRUE(now.insert(address).second) << "attached twice";
    return reinterpret_cast<std::byte*>(address);
  }
  void detach(std::byte* address) override { EXPECT_EQ(now.erase(address_of(address)), 1u); }

  bool refuses = false;
  int opened = 0;
  int attached = 0;
  std::set<uint64_t> now;
};

struct Fixture : testing::Test {
  OwnMemory device;
  Xpmem xpmem{device, kWindow, 4};
  uint64_t word = 0x1122334455667788;
  Target target = {0, address_of(&word), word, kSegment};
};
using XpmemMethod = Fixture;

TEST_F(XpmemMethod, probes_by_moving_the_word) {
  EXPECT_TRUE(xpmem.probe_read(target));
  EXPECT_TRUE(xpmem.probe_write(target));
  EXPECT_EQ(word, target.probe_word);
  Target other = target;
  other.probe_word ^= 4;
  EXPECT_FALSE(xpmem.probe_read(other));
  Target none = target;
  none.xpmem_segment = 0;
  EXPECT_FALSE(xpmem.probe_read(none));
}

TEST_F(XpmemMethod, a_segment_that_is_refused_is_asked_for_once) {
  Target other = target;
  other.xpmem_segment = kSegment + 1;
  EXPECT_FALSE(xpmem.probe_read(other));
  EXPECT_FALSE(xpmem.probe_read(other));
  EXPECT_EQ(device.opened, 1);
}

TEST_F(XpmemMethod, copies_across_windows_at_any_offset) {
  for (const size_t bytes : {size_t{1}, kWindow, 3 * kWindow + 5, 20 * kWindow + 77}) {
    std::vector<uint8_t> from(bytes + 3);
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i * 13 + i / 7);
    std::vector<uint8_t> to(bytes + 2, 0x5a);
    EXPECT_TRUE(xpmem.read(target, to.data() + 1, address_of(from.data() + 3), bytes));
    EXPECT_EQ(std::memcmp(to.data() + 1, from.data() + 3, bytes), 0);
    std::vector<uint8_t> back(bytes + 2, 0x5a);
    EXPECT_TRUE(xpmem.write(target, address_of(back.data() + 1), from.data() + 3, bytes));
    EXPECT_EQ(back, to);
    EXPECT_EQ(to.front(), 0x5a);
    EXPECT_EQ(to.back(), 0x5a);
  }
}

TEST_F(XpmemMethod, keeps_windows_and_no_more_than_the_bound) {
  std::vector<uint8_t> memory(10 * kWindow);
  uint8_t byte = 0;
  const auto touch = [&](size_t window) {
    EXPECT_TRUE(xpmem.read(target, &byte, address_of(memory.data() + window * kWindow), 1));
  };
  for (size_t window = 0; window < 4; ++window) touch(window);
  EXPECT_EQ(device.attached, 4);
  for (size_t window = 0; window < 4; ++window) touch(window);
  EXPECT_EQ(device.attached, 4) << "they were kept";
  touch(0);
  touch(7);  // window 1 is the least recently used
  EXPECT_EQ(xpmem.windows(), 4u);
  touch(0);
  touch(2);
  touch(3);
  EXPECT_EQ(device.attached, 5);
  touch(1);
  EXPECT_EQ(device.attached, 6);
  EXPECT_EQ(xpmem.windows(), 4u);
}

TEST_F(XpmemMethod, what_the_device_refuses_is_refused) {
  std::vector<uint8_t> memory(10 * kWindow, 3);
  std::vector<uint8_t> to(memory.size());
  EXPECT_TRUE(xpmem.read(target, to.data(), address_of(memory.data()), 2 * kWindow));
  device.refuses = true;
  EXPECT_FALSE(xpmem.read(target, to.data(), address_of(memory.data()), memory.size()));
  EXPECT_FALSE(xpmem.write(target, address_of(to.data()), memory.data(), memory.size()));
  device.refuses = false;
  EXPECT_TRUE(xpmem.read(target, to.data(), address_of(memory.data()), memory.size()));
  EXPECT_EQ(to, memory);
}

TEST(XpmemDevice, there_is_none_where_there_is_no_such_file_and_no_other_file_is_one) {
  EXPECT_EQ(os::open_xpmem("/dev/no_such_device"), nullptr);
  const std::unique_ptr<os::XpmemDevice> other = os::open_xpmem("/dev/null");
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(other->publish(), 0);
  EXPECT_EQ(other->open(1), 0);
  EXPECT_EQ(other->attach(1, 0, 4096), nullptr);
}

}  // namespace
}  // namespace hearth::single_copy
