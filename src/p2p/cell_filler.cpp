#include "p2p/cell_filler.h"

#include <algorithm>
#include <string>

#include "base/atomic.h"
#include "base/copy_engine.h"
#include "base/os_wait.h"
#include "base/param.h"

namespace hearth::p2p {
namespace {

// Between what a line takes where a cache is shared (2 to 5 ns, 10 when the pages are new) and where not (30
// and more).
constexpr uint64_t kSlowNsPerLine = 16;
constexpr uint64_t kLineBytes = 64;
// A look costs 50 ns, a piece of 4 KiB some 150.
constexpr uint32_t kPiecesPerLook = 8;
// So often one after the other: an interrupt makes one piece slow, not several.
constexpr uint8_t kSlowLooks = 3;
// A trial of plain stores costs up to 2 us where they are slow, a streamed piece of 16 KiB some 2 us.
constexpr uint32_t kPiecesPerTrial = 64;
constexpr size_t kTrialBytes = 2048;
constexpr size_t kScratchBytes = 4096;

// How long plain stores take until they are done, not only on their way.
uint64_t time_plain_ns(const datatype::Type& type, const void* buffer, int64_t offset, std::byte* cell,
                       size_t bytes) {
  const uint64_t begin_ns = os::now_ns();
  datatype::pack(type, buffer, offset, cell, bytes);
  atomic::fence_full();
  return os::now_ns() - begin_ns;
}

}  // namespace

CellFiller::Choice store_choice() {
  const std::string& word = param::get_text(param::Id::p2p_stores);
  if (word == "plain") return CellFiller::Choice::plain;
  return word == "streaming" ? CellFiller::Choice::streaming : CellFiller::Choice::by_time;
}

void CellFiller::judge(uint64_t bytes, uint64_t took_ns) {
  if (took_ns * kLineBytes <= kSlowNsPerLine * bytes) {
    streams_ = false;
    slow_looks_ = 0;
  } else if (!streams_ && ++slow_looks_ == kSlowLooks) {
    streams_ = true;
  }
}

void CellFiller::fill(const datatype::Type& type, const void* buffer, int64_t offset, std::byte* cell,
                      size_t bytes) {
  ++pieces_;
  if (!streams_) {
    if ((pieces_ % kPiecesPerLook != 0 && slow_looks_ == 0) || choice_ != Choice::by_time) [[likely]] {
      return datatype::pack(type, buffer, offset, cell, bytes);
    }
    return judge(bytes, time_plain_ns(type, buffer, offset, cell, bytes));
  }
  if (pieces_ % kPiecesPerTrial == 0 && choice_ == Choice::by_time) {
    const size_t part = std::min(bytes, kTrialBytes);
    judge(part, time_plain_ns(type, buffer, offset, cell, part));
    offset += static_cast<int64_t>(part);
    cell += part;
    bytes -= part;
  }
  if (type.contiguous) {
    const auto* data = static_cast<const std::byte*>(buffer) + type.true_lower_bound + offset;
    return copy::run(copy::Engine::non_temporal, cell, data, bytes);
  }
  // By way of a scratch that stays in the first-level cache: blocks may be shorter than a line.
  alignas(kLineBytes) std::byte scratch[kScratchBytes];
  while (bytes > 0) {
    const size_t part = std::min(bytes, sizeof scratch);
    datatype::pack(type, buffer, offset, scratch, part);
    copy::run(copy::Engine::non_temporal, cell, scratch, part);
    offset += static_cast<int64_t>(part);
    cell += part;
    bytes -= part;
  }
}

}  // namespace hearth::p2p
