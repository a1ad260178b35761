#include "p2p/store_policy.h"

#include <algorithm>
#include <string>

#include "base/atomic.h"
#include "base/copy.h"
#include "base/os_wait.h"
#include "base/param.h"

namespace hearth::p2p {
namespace {

// Threshold between lines in a shared cache (2 to 5 ns, 10 on new pages) and lines in another cache (30 ns
// and more).
constexpr uint64_t kSlowNsPerLine = 16;
constexpr uint64_t kLineBytes = 64;
// Fragments per sample, with plain and with streaming stores. A sample costs about 100 ns, or 2 us if plain
// stores are slow; a streamed fragment of 16 KiB takes 2 us.
constexpr uint32_t kPiecesPerSample = 8;
constexpr uint32_t kPiecesPerTrial = 64;
constexpr size_t kSampleBytesMin = 1024;
constexpr size_t kSampleBytesMax = 2048;
// Consecutive slow samples before a switch: an interrupt slows down one fragment, not several.
constexpr uint8_t kSlowSamples = 3;
constexpr size_t kScratchBytes = 4096;

}  // namespace

StorePolicy::Choice store_choice() {
  const std::string& word = param::get_text(param::Id::p2p_stores);
  if (word == "plain") return StorePolicy::Choice::plain;
  return word == "streaming" ? StorePolicy::Choice::streaming : StorePolicy::Choice::by_time;
}

void StorePolicy::update(uint64_t bytes, uint64_t took_ns) {
  if (took_ns * kLineBytes <= kSlowNsPerLine * bytes) {
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
    // Packs into the scratch buffer first, so that only the stores are timed. The fence waits until they are
    // complete.
    const size_t part = std::min(bytes, kSampleBytesMax);
    datatype::pack(type, buffer, offset, scratch, part);
    const uint64_t begin_ns = os::now_ns();
    copy_bytes(to, scratch, part);
    atomic::fence_full();
    update(part, os::now_ns() - begin_ns);
    offset += static_cast<int64_t>(part);
    to += part;
    bytes -= part;
  }
  if (!streams_) return datatype::pack(type, buffer, offset, to, bytes);
  if (type.contiguous) {
    const auto* data = static_cast<const std::byte*>(buffer) + type.true_lower_bound + offset;
    return copy::run(copy::Engine::non_temporal, to, data, bytes);
  }
  // Packs into the scratch buffer, because blocks may be shorter than a line.
  while (bytes > 0) {
    const size_t part = std::min(bytes, sizeof scratch);
    datatype::pack(type, buffer, offset, scratch, part);
    copy::run(copy::Engine::non_temporal, to, scratch, part);
    offset += static_cast<int64_t>(part);
    to += part;
    bytes -= part;
  }
}

}  // namespace hearth::p2p
