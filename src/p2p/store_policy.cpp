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
// Stores are slow if they take three times as long as the same stores into the own cache, or 16 ns per line.
// Per line, with the time of the clock:
//           own cache      shared cache   another cache
//   Zen 3   not measured   2 to 5 ns      30 ns and more
//   Zen 5   1.1 ns         1 to 2 ns      5 to 10 ns
constexpr uint64_t kSlowFactor = 3;
constexpr uint64_t kSlowNsPerLine = 16;
// Fragments per sample, with plain and with streaming stores. A sample costs about 100 ns, or 2 us if plain
// stores are slow; a streamed fragment of 16 KiB takes 2 us.
constexpr uint32_t kPiecesPerSample = 8;
constexpr uint32_t kPiecesPerTrial = 64;
constexpr size_t kSampleBytesMin = 1024;
constexpr size_t kSampleBytesMax = 2048;
// Consecutive slow samples before a switch: an interrupt slows down one fragment, not several.
constexpr uint8_t kSlowSamples = 3;
constexpr size_t kScratchBytes = 4096;

// The fence waits until the stores are complete.
uint64_t time_of_stores(std::byte* to, const std::byte* from, size_t bytes) {
  const uint64_t begin_ns = os::now_ns();
  copy_bytes(to, from, bytes);
  atomic::fence_full();
  return os::now_ns() - begin_ns;
}

uint64_t time_own_cache() {
  constexpr int kRounds = 16;
  alignas(kLineBytes) std::byte from[kSampleBytesMax] = {};
  alignas(kLineBytes) std::byte to[kSampleBytesMax];
  uint64_t least_ns = UINT64_MAX;
  for (int round = 0; round < kRounds; ++round)
    least_ns = std::min(least_ns, time_of_stores(to, from, sizeof to));
  return least_ns;
}

}  // namespace

StorePolicy::Choice store_choice() {
  const std::string& word = param::get_text(param::Id::p2p_stores);
  if (word == "plain") return StorePolicy::Choice::plain;
  return word == "streaming" ? StorePolicy::Choice::streaming : StorePolicy::Choice::by_time;
}

uint64_t StorePolicy::own_cache_ns() {
  static const uint64_t measured_ns = time_own_cache();
  return measured_ns;
}

void StorePolicy::update(uint64_t bytes, uint64_t took_ns, uint64_t own_ns) {
  const uint64_t limit_ns =
      std::min(kSlowFactor * own_ns * bytes / kSampleBytesMax, kSlowNsPerLine * bytes / kLineBytes);
  if (took_ns <= limit_ns) {
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
  // Small enough to stay in L1.
  alignas(kLineBytes) std::byte scratch[kScratchBytes];
  ++pieces_;
  if (wants_sample(bytes)) [[unlikely]] {
    // Packs into the scratch buffer first, and stores to the page, which may be new: only the stores to lines
    // are timed.
    const size_t part = std::min(bytes, kSampleBytesMax);
    datatype::pack(type, buffer, offset, scratch, part);
    copy_bytes(to, scratch, 1);
    atomic::fence_full();
    update(part, time_of_stores(to, scratch, part), own_cache_ns());
    offset += static_cast<int64_t>(part);
    to += part;
    bytes -= part;
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
