#include "base/copy_dsa.h"

#include <algorithm>

#include "base/atomic.h"
#include "base/copy_engine.h"
#include "base/os_wait.h"

namespace hearth::copy::dsa {
namespace {

// A full queue stays full for about the duration of a copy; then the processor copies.
constexpr int kSubmissionsMax = 64;
// Bytes that the processor copies after a page fault: this makes the page present and guarantees progress. A
// buffer with more absent pages than kFaultsMax is copied faster by the processor.
constexpr size_t kAssistBytes = 4096;
constexpr int kFaultsMax = 16;
// Polls of the completion record between two reads of the clock.
constexpr int kLooksPerClock = 256;

}  // namespace

bool Mover::works() const {
  return atomic::load_relaxed(failed_) == 0;
}

void Mover::fail() {
  queue_.close();
  atomic::store_relaxed(failed_, 1u);
}

bool Mover::submit(const Descriptor& descriptor) {
  for (int i = 0; i < kSubmissionsMax; ++i) {
    switch (queue_.submit(descriptor)) {
      case Queue::Answer::accepted:
        return true;
      case Queue::Answer::busy:
        atomic::cpu_relax();
        break;
      case Queue::Answer::broken:
        fail();
        return false;
    }
  }
  return false;
}

// Submits one descriptor and returns how many bytes the device has copied: all of them, or fewer after a page
// fault or failure.
size_t Mover::transfer(std::byte* to, const std::byte* from, size_t bytes, bool& page_absent) {
  completion_ = {};
  Descriptor descriptor;
  descriptor.operation = kMemoryMove | kCompletionAddressValid | kRequestCompletion | kIntoCache;
  descriptor.completion_address = reinterpret_cast<uint64_t>(&completion_);
  descriptor.from = reinterpret_cast<uint64_t>(from);
  descriptor.to = reinterpret_cast<uint64_t>(to);
  descriptor.bytes = static_cast<uint32_t>(bytes);
  if (!submit(descriptor)) return 0;

  const uint64_t start_ns = os::now_ns();
  uint8_t status;
  // Pairs with the device's store of the status, which follows its stores of the data.
  for (int looks = 1; (status = atomic::load_acquire(completion_.status)) == kPending; ++looks) {
    atomic::cpu_relax();
    if (looks % kLooksPerClock == 0 && os::now_ns() - start_ns > patience_ns_) {
      fail();  // the device no longer writes, so the caller may copy
      return 0;
    }
  }
  switch (status & kStatusMask) {
    case kSuccess:
      return bytes;
    case kPageFault:
      page_absent = true;
      // A nonzero result means that the device copied from the end, as it does for overlapping ranges: then
      // the number of completed bytes is of no use.
      return completion_.result == 0 ? std::min<size_t>(completion_.bytes_completed, bytes) : 0;
    default:
      fail();
      return 0;
  }
}

size_t Mover::copy(void* to_address, const void* from_address, size_t bytes) {
  auto* to = static_cast<std::byte*>(to_address);
  const auto* from = static_cast<const std::byte*>(from_address);
  // Pairs with the store below. One descriptor at a time, so that a dedicated queue never overflows.
  if (!works() || atomic::exchange(in_use_, 1u) != 0) return 0;
  size_t done = 0;
  for (int faults = 0; done < bytes && faults <= kFaultsMax;) {
    const size_t part = std::min(bytes - done, transfer_bytes_max_);
    bool page_absent = false;
    const size_t moved = transfer(to + done, from + done, part, page_absent);
    done += moved;
    if (page_absent) {
      const size_t assist = std::min(bytes - done, kAssistBytes);
      run(Engine::cached, to + done, from + done, assist);
      done += assist;
      ++faults;
    } else if (moved < part) {
      break;
    }
  }
  atomic::store_release(in_use_, 0u);  // pairs with the exchange above
  return done;
}

}  // namespace hearth::copy::dsa
