#include "p2p/store_policy.h"

#include <algorithm>
#include <string>

#include "base/atomic.h"
#include "base/copy.h"
#include "base/os_wait.h"
#include "base/param.h"

namespace hearth::p2p {
namespace {

constexpr uint64_t kLineBytes = 64;
// By how much a store to a line of another processor's cache takes longer than one to a line of the own
// cache: on Zen 5 0 to 40 ns if the two share a cache, 90 to 140 if not; 100 to 130 if the line lies in
// memory. The time of many lines at once does not tell, since the number of lines in flight depends on the
// processor: Zen 5 stores to far lines at 5 to 10 ns per line, and to near ones, once they have left its own
// cache, at 1 to 11.
constexpr uint64_t kSlowLineNs = 64;
// A page fault.
constexpr uint64_t kNewPageNs = 400;
// Fragments per sample, with plain and with streaming stores. A sample takes 0.3 us near and 0.9 us far.
constexpr uint32_t kPiecesPerSample = 32;
constexpr uint32_t kPiecesPerTrial = 64;
constexpr size_t kSampleBytesMin = 1024;
// The lines of a sample: none is next to another, and no stride connects them, so the processor prefetches
// none.
constexpr size_t kSampleLines[] = {3, 13, 6, 9};
static_assert((std::ranges::max(kSampleLines) + 1) * kLineBytes <= kSampleBytesMin);
// Consecutive slow samples before a switch: an interrupt slows down one fragment, not several.
constexpr uint8_t kSlowSamples = 3;
constexpr size_t kScratchBytes = 4096;

/// Stores to the lines of a sample, one after the other.
struct LineTimes {
  uint64_t first_ns = 0;
  uint64_t least_ns = UINT64_MAX;  // an interrupt delays only one of them
};

// Stores bytes of `from`. The fence waits until a store is complete.
LineTimes time_lines(std::byte* to, const std::byte* from) {
  LineTimes times;
  for (const size_t line : kSampleLines) {
    const uint64_t begin_ns = os::now_ns();
    copy_bytes(to + line * kLineBytes, from + line * kLineBytes, sizeof(uint64_t));
    atomic::fence_full();
    const uint64_t took_ns = os::now_ns() - begin_ns;
    if (times.first_ns == 0) times.first_ns = took_ns;
    times.least_ns = std::min(times.least_ns, took_ns);
  }
  return times;
}

// For the own cache: the time of the clock and of the fence.
uint64_t time_own_line() {
  constexpr int kRounds = 4;
  alignas(kLineBytes) std::byte from[kSampleBytesMin] = {};
  alignas(kLineBytes) std::byte to[kSampleBytesMin];
  uint64_t least_ns = UINT64_MAX;
  for (int round = 0; round < kRounds; ++round) least_ns = std::min(least_ns, time_lines(to, from).least_ns);
  return least_ns;
}

}  // namespace

StorePolicy::Choice store_choice() {
  const std::string& word = param::get_text(param::Id::p2p_stores);
  if (word == "plain") return StorePolicy::Choice::plain;
  return word == "streaming" ? StorePolicy::Choice::streaming : StorePolicy::Choice::by_time;
}

void StorePolicy::update(uint64_t line_ns) {
  if (line_ns < kSlowLineNs) {
    slow_samples_ = 0;
    if (fast_samples_ < kSettledSamples && ++fast_samples_ == kSettledSamples) streams_ = false;
  } else {
    fast_samples_ = 0;
    if (slow_samples_ < kSlowSamples && ++slow_samples_ == kSlowSamples) streams_ = true;
  }
}

bool StorePolicy::wants_sample(size_t bytes) const {
  if (choice_ != Choice::by_time || bytes < kSampleBytesMin) return false;
  if (streams_) return pieces_ % kPiecesPerTrial == 0 || fast_samples_ > 0;
  return pieces_ % kPiecesPerSample == 0 || slow_samples_ > 0 || fast_samples_ < kSettledSamples;
}

void StorePolicy::fill(const datatype::Type& type, const void* buffer, int64_t offset, std::byte* to,
                       size_t bytes) {
  // Short enough to stay in L1.
  alignas(kLineBytes) std::byte scratch[kScratchBytes];
  ++pieces_;
  if (wants_sample(bytes)) [[unlikely]] {
    // Packs into the scratch buffer first, so that only stores are timed. The lines of a new page are in no
    // cache, so they tell nothing.
    static const uint64_t own_ns = time_own_line();
    datatype::pack(type, buffer, offset, scratch, kSampleBytesMin);
    const LineTimes times = time_lines(to, scratch);
    if (times.first_ns < own_ns + kNewPageNs) update(times.least_ns > own_ns ? times.least_ns - own_ns : 0);
  }
  if (type.contiguous) {
    const auto* data = static_cast<const std::byte*>(buffer) + type.true_lower_bound + offset;
    if (!streams_ && bytes < copy::kStringCopyForReaderBytesMin) return copy_bytes(to, data, bytes);
    return copy::run(copy::choose_for_reader(bytes, !streams_), to, data, bytes);
  }
  if (!streams_) return datatype::pack(type, buffer, offset, to, bytes);
  // Packs into the scratch buffer, because blocks may be shorter than a line.
  while (bytes > 0) {
    const size_t part = std::min(bytes, sizeof scratch);
    datatype::pack(type, buffer, offset, scratch, part);
    copy::run(copy::choose_for_reader(part, false), to, scratch, part);
    offset += static_cast<int64_t>(part);
    to += part;
    bytes -= part;
  }
}

}  // namespace hearth::p2p
