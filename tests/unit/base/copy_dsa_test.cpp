#include "base/copy_dsa.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/atomic.h"
#include "base/copy_engine.h"
#include "base/os_dsa.h"
#include "base/os_wait.h"

#if __has_include(<linux/idxd.h>)
#include <linux/idxd.h>
static_assert(sizeof(dsa_hw_desc) == sizeof(hearth::copy::dsa::Descriptor));
static_assert(offsetof(dsa_hw_desc, completion_addr) ==
              offsetof(hearth::copy::dsa::Descriptor, completion_address));
static_assert(offsetof(dsa_hw_desc, src_addr) == offsetof(hearth::copy::dsa::Descriptor, from));
static_assert(offsetof(dsa_hw_desc, dst_addr) == offsetof(hearth::copy::dsa::Descriptor, to));
static_assert(offsetof(dsa_hw_desc, xfer_size) == offsetof(hearth::copy::dsa::Descriptor, bytes));
static_assert(offsetof(dsa_hw_desc, int_handle) == offsetof(hearth::copy::dsa::Descriptor, interrupt_handle));
static_assert(sizeof(dsa_completion_record) == sizeof(hearth::copy::dsa::Completion));
static_assert(offsetof(dsa_completion_record, bytes_completed) ==
              offsetof(hearth::copy::dsa::Completion, bytes_completed));
static_assert(hearth::copy::dsa::kMemoryMove == static_cast<uint32_t>(DSA_OPCODE_MEMMOVE) << 24);
static_assert(hearth::copy::dsa::kCompletionAddressValid == IDXD_OP_FLAG_CRAV);
static_assert(hearth::copy::dsa::kRequestCompletion == IDXD_OP_FLAG_RCR);
static_assert(hearth::copy::dsa::kIntoCache == IDXD_OP_FLAG_CC);
static_assert(hearth::copy::dsa::kSuccess == DSA_COMP_SUCCESS);
static_assert(hearth::copy::dsa::kPageFault == DSA_COMP_PAGE_FAULT_NOBOF);
static_assert(hearth::copy::dsa::kStatusMask == DSA_COMP_STATUS_MASK);
#endif

namespace hearth::copy::dsa {
namespace {

constexpr uint8_t kHardwareError = 0x1a;
constexpr uint64_t kPatience_ns = 20'000'000;

/// A device in software. `orders` sets its response to each descriptor; without an order it copies.
class SoftwareQueue : public Queue {
 public:
  struct Order {
    enum Kind {
      kCopy,
      kBusy,
      kBroken,
      kFault,
      kFaultOfWrite,
      kBackward,
      kError,
      kSilence,
      kLate
    } kind = kCopy;
    size_t bytes = 0;  // copied before a fault
  };

  std::deque<Order> orders;
  std::vector<size_t> transfers;  // bytes of each accepted descriptor
  int submissions = 0;
  bool closed = false;

  ~SoftwareQueue() override {
    if (late_.joinable()) late_.join();
  }

  Answer submit(const Descriptor& descriptor) override {
    ++submissions;
    if (closed) return Answer::broken;
    Order order;
    if (!orders.empty()) {
      order = orders.front();
      orders.pop_front();
    }
    if (order.kind == Order::kBusy) return Answer::busy;
    if (order.kind == Order::kBroken) return Answer::broken;
    check(descriptor);
    transfers.push_back(descriptor.bytes);
    switch (order.kind) {
      case Order::kFault:
        complete(descriptor, order.bytes, kPageFault, 0);
        break;
      case Order::kFaultOfWrite:
        complete(descriptor, order.bytes, kPageFault | 0x80, 0);
        break;
      case Order::kBackward:
        complete(descriptor, order.bytes, kPageFault, 1);
        break;
      case Order::kError:
        complete(descriptor, 0, kHardwareError, 0);
        break;
      case Order::kSilence:
        break;
      case Order::kLate:
        if (late_.joinable()) late_.join();
        late_ = std::thread([this, descriptor] {
          os::sleep_ns(2'000'000);
          complete(descriptor, descriptor.bytes, kSuccess, 0);
        });
        break;
      default:
        complete(descriptor, descriptor.bytes, kSuccess, 0);
    }
    return Answer::accepted;
  }
  void close() override { closed = true; }

 private:
  static void check(const Descriptor& descriptor) {
    EXPECT_EQ(descriptor.operation, 0x0300010Cu);
    EXPECT_EQ(descriptor.completion_address % 32, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(&descriptor) % 64, 0u);
    EXPECT_GT(descriptor.bytes, 0u);
    EXPECT_EQ(reinterpret_cast<const Completion*>(descriptor.completion_address)->status, kPending);
  }
  static void complete(const Descriptor& descriptor, size_t bytes, uint8_t status, uint8_t result) {
    auto* to = reinterpret_cast<std::byte*>(descriptor.to);
    const auto* from = reinterpret_cast<const std::byte*>(descriptor.from);
    auto& record = *reinterpret_cast<Completion*>(descriptor.completion_address);
    if (result == 0) {
      std::memcpy(to, from, bytes);
    } else {
      std::memcpy(to + descriptor.bytes - bytes, from + descriptor.bytes - bytes, bytes);
    }
    record.result = result;
    record.bytes_completed = static_cast<uint32_t>(status == kSuccess ? 0 : bytes);
    record.fault_address = descriptor.to + bytes;
    atomic::store_release(record.status, status);  // pairs with the load in Mover::transfer
  }

  std::thread late_;
};

using Order = SoftwareQueue::Order;

class Dsa : public testing::Test {
 protected:
  static constexpr size_t kBytes = 100'000;
  static constexpr std::byte kUntouched{0xA5};

  void SetUp() override {
    for (size_t i = 0; i < kBytes; ++i) from[i] = static_cast<std::byte>(i * 31 + (i >> 8));
    std::fill(to.begin(), to.end(), kUntouched);
  }
  /// Copies and expects that the first `expected` bytes are correct and that nothing is written past the end
  /// of the buffer. The bytes in between may have any value.
  void expect_copied(Mover& mover, size_t expected) {
    std::fill(to.begin(), to.end(), kUntouched);
    const size_t done = mover.copy(to.data(), from.data(), kBytes);
    EXPECT_EQ(done, expected);
    EXPECT_EQ(std::memcmp(to.data(), from.data(), done), 0);
    EXPECT_EQ(to[kBytes], kUntouched);
  }

  SoftwareQueue queue;
  std::vector<std::byte> from = std::vector<std::byte>(kBytes);
  std::vector<std::byte> to = std::vector<std::byte>(kBytes + 1);
};

TEST_F(Dsa, CopiesInTransfersOfTheLongestKind) {
  Mover mover(queue, 32768, kPatience_ns);
  expect_copied(mover, kBytes);
  EXPECT_EQ(queue.transfers, (std::vector<size_t>{32768, 32768, 32768, kBytes - 3 * 32768}));
  EXPECT_TRUE(mover.works());
  EXPECT_EQ(mover.copy(to.data(), from.data(), 0), 0u);
}

TEST_F(Dsa, AsksAgainWhileTheQueueIsFull) {
  queue.orders.assign(10, {Order::kBusy});
  Mover mover(queue, kBytes, kPatience_ns);
  expect_copied(mover, kBytes);
  EXPECT_EQ(queue.submissions, 11);
}

TEST_F(Dsa, AQueueThatStaysFullIsLeftToOthersForThisCopyOnly) {
  queue.orders.assign(1000, {Order::kBusy});
  queue.orders.push_front({});
  Mover mover(queue, 65536, kPatience_ns);
  expect_copied(mover, 65536);
  EXPECT_LT(queue.submissions, 1000);
  EXPECT_TRUE(mover.works());
  queue.orders.clear();
  expect_copied(mover, kBytes);
}

TEST_F(Dsa, GoesOnBehindAnAbsentPage) {
  queue.orders = {{Order::kFault, 5000}, {Order::kFaultOfWrite, 0}, {Order::kFault, 70'000}};
  Mover mover(queue, kBytes, kPatience_ns);
  expect_copied(mover, kBytes);
  EXPECT_EQ(queue.transfers, (std::vector<size_t>{kBytes, kBytes - 9096, kBytes - 13'192, kBytes - 87'288}));
  EXPECT_TRUE(mover.works());
}

TEST_F(Dsa, AFaultInTheLastBytesLeavesNothingToTheDevice) {
  queue.orders = {{Order::kFault, kBytes - 10}};
  Mover mover(queue, kBytes, kPatience_ns);
  expect_copied(mover, kBytes);
  EXPECT_EQ(queue.transfers.size(), 1u);
}

TEST_F(Dsa, ARecordThatCountsFromTheEndSaysNothingAboutTheBeginning) {
  queue.orders = {{Order::kBackward, 50'000}};
  Mover mover(queue, kBytes, kPatience_ns);
  expect_copied(mover, kBytes);
  EXPECT_EQ(queue.transfers, (std::vector<size_t>{kBytes, kBytes - 4096}));
}

TEST_F(Dsa, ABufferOfAbsentPagesIsLeftToTheProcessor) {
  queue.orders.assign(1000, {Order::kFault, 0});
  Mover mover(queue, kBytes, kPatience_ns);
  expect_copied(mover, 17 * 4096);
  EXPECT_EQ(queue.transfers.size(), 17u);
  EXPECT_TRUE(mover.works());
}

TEST_F(Dsa, AnErrorEndsItsUse) {
  queue.orders = {{}, {Order::kError}};
  Mover mover(queue, 32768, kPatience_ns);
  expect_copied(mover, 32768);
  EXPECT_FALSE(mover.works());
  EXPECT_TRUE(queue.closed);
  const int submissions = queue.submissions;
  expect_copied(mover, 0);
  EXPECT_EQ(queue.submissions, submissions) << "a failed device is not asked again";
}

TEST_F(Dsa, ARefusalEndsItsUse) {
  queue.orders = {{Order::kBusy}, {Order::kBroken}};
  Mover mover(queue, kBytes, kPatience_ns);
  expect_copied(mover, 0);
  EXPECT_FALSE(mover.works());
  EXPECT_TRUE(queue.closed);
}

TEST_F(Dsa, ADeviceThatNeverAnswersIsClosedBeforeOthersWrite) {
  queue.orders = {{Order::kSilence}};
  Mover mover(queue, kBytes, 1'000'000);
  expect_copied(mover, 0);
  EXPECT_FALSE(mover.works());
  EXPECT_TRUE(queue.closed);
}

TEST_F(Dsa, WaitsForADeviceThatTakesItsTime) {
  queue.orders = {{Order::kLate}, {Order::kLate}};
  Mover mover(queue, 65536, 60'000'000'000);
  expect_copied(mover, kBytes);
}

/// Starts a second copy with the same mover during submit(), as another thread could.
class Reentering : public SoftwareQueue {
 public:
  Mover* mover = nullptr;
  size_t copied = 1;
  Answer submit(const Descriptor& descriptor) override {
    std::byte from[64] = {};
    std::byte to[64] = {};
    copied = mover->copy(to, from, sizeof to);
    return SoftwareQueue::submit(descriptor);
  }
};

TEST_F(Dsa, OneCopyAtATime) {
  Reentering reentering;
  Mover mover(reentering, kBytes, kPatience_ns);
  reentering.mover = &mover;
  expect_copied(mover, kBytes);
  EXPECT_EQ(reentering.copied, 0u);
  EXPECT_EQ(reentering.transfers.size(), 1u);
}

// Discovery of real queues, without a device: an entry that is not a valid queue is not opened.
TEST(DsaQueues, OnlyWhatTheDriverShowsIsOpened) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("hearth_dsa_" + std::to_string(::getpid()));
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "devices");
  std::filesystem::create_directories(folder / "properties" / "wq0.1");
  for (const char* name : {"wq0.1", "wq0.0", "other"}) std::ofstream(folder / "devices" / name) << "";
  const os::DsaFolders folders = {folder / "devices", folder / "properties"};
  EXPECT_EQ(os::dsa_queue_names(folders), (std::vector<std::string>{"wq0.0", "wq0.1"}));
  EXPECT_EQ(os::dsa_queue_names({folder / "nowhere", folder}), std::vector<std::string>{});
  EXPECT_EQ(os::open_dsa_queue(folders, "wq0.0").queue, nullptr) << "it has no properties";
  EXPECT_EQ(os::open_dsa_queue(folders, "wq0.9").queue, nullptr);
  std::ofstream(folder / "properties" / "wq0.1" / "mode") << "none\n";
  EXPECT_EQ(os::open_dsa_queue(folders, "wq0.1").queue, nullptr);
  std::filesystem::remove_all(folder);
}

TEST(DsaQueues, TheEngineIsReplacedWhereThereIsNone) {
  std::vector<std::byte> from(3 << 20, std::byte{7});
  std::vector<std::byte> to(3 << 20);
  if (os::dsa_queue_names({}).empty()) {
    EXPECT_FALSE(available(Engine::dsa));
  }
  run(Engine::dsa, to.data(), from.data(), to.size());
  EXPECT_EQ(to, from);
}

}  // namespace
}  // namespace hearth::copy::dsa
