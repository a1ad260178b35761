#include "base/copy_dsa.h"

#include <algorithm>

#include "base/atomic.h"
#include "base/copy_engine.h"
#include "base/os_wait.h"

namespace hearth::copy::dsa {
namespace {

// A queue that is full now is full for about as long as a copy takes: then the processor had better copy.
constexpr int kSubmissionsMax = 64;
// What the processor copies where a page was absent: so the page comes, and there is progress whatever the
// device says. A buffer of absent pages is quicker through the processor altogether.
constexpr size_t kAssistBytes = 4096;
constexpr int kFaultsMax = 16;
// Looks at the completion record between two looks at the clock.
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

// One descriptor: how many bytes the device has copied, all of them or, with an absent page or a failure,
// fewer.
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
  // Pairs with the device's own writing of the record, which comes after that of the data.
  for (int looks = 1; (status = atomic::load_acquire(completion_.status)) == kPending; ++looks) {
    atomic::cpu_relax();
    if (looks % kLooksPerClock == 0 && os::now_ns() - start_ns > patience_ns_) {
      fail();  // nothing is written any more, so the caller may copy by itself
      return 0;
    }
  }
  switch (status & kStatusMask) {
    case kSuccess:
      return bytes;
    case kPageFault:
      page_absent = true;
      // A result other than zero: copied from the end, as for ranges that overlap; then nothing is known.
      return completion_.result == 0 ? std::min<size_t>(completion_.bytes_completed, bytes) : 0;
    default:
      fail();
      return 0;
  }
}

size_t Mover::copy(void* to_address, const void* from_address, size_t bytes) {
  auto* to = static_cast<std::byte*>(to_address);
  const auto* from = static_cast<const std::byte*>(from_address);
  // Pairs with the store below: one descriptor at a time, so that a queue of our own never overflows.
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
