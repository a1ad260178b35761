#include "p2p/prefault.h"

#include <algorithm>

#include "base/os_memory.h"
#include "base/os_wait.h"

namespace hearth::p2p {
namespace {

// A store to a present page took at most 0.4 us in 99 of 100 cases, even with a TLB miss; a fault took 1.7 us
// (in a virtual machine). On physical machines a fault takes 0.5 us or more.
constexpr uint64_t kFaultNs = 400;
// Populating a page takes 0.17 us if it is present, 1.1 us if it is not.
constexpr uint64_t kPopulatedPageNs = 300;
// Long enough to amortize the system call, short enough that the sender does not run out of bounce buffers.
constexpr size_t kPieceBytes = size_t{256} << 10;

std::byte* round_to_page(std::byte* address, bool up) {
  const auto page = static_cast<uintptr_t>(os::page_bytes());
  const auto number = reinterpret_cast<uintptr_t>(address) + (up ? page - 1 : 0);
  return address + (static_cast<intptr_t>(number / page * page) - reinterpret_cast<intptr_t>(address));
}

}  // namespace

Prefault::Prefault(std::byte* to, size_t bytes) : to_(to) {
  std::byte* const first = round_to_page(to, true);
  std::byte* const last = round_to_page(to + bytes, false);
  if (bytes < kBytesMin || last <= first) return;
  const uint64_t before = os::now_ns();
  *const_cast<volatile std::byte*>(last - 1) = std::byte{0};
  if (os::now_ns() - before < kFaultNs) return;
  next_ = first;
  last_ = last;
}

void Prefault::populate(size_t end) {
  while (next_ < last_ && end > static_cast<size_t>(next_ - to_)) {
    const size_t bytes = std::min(kPieceBytes, static_cast<size_t>(last_ - next_));
    const uint64_t before = os::now_ns();
    const bool done = os::populate_pages(next_, bytes);
    next_ += bytes;
    // Stops if the kernel cannot populate pages, or if they were present and the probe was slow for another
    // reason.
    if (!done || os::now_ns() - before < bytes / os::page_bytes() * kPopulatedPageNs) next_ = last_;
  }
}

}  // namespace hearth::p2p
