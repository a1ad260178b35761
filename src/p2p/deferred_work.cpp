#include "p2p/deferred_work.h"

#include <algorithm>

namespace hearth::p2p {
namespace {

// More would evict the program's own data from L2.
constexpr int64_t kAheadBytesMax = 64 << 10;

int64_t withheld_bytes_max(size_t fragment_bytes_max, int processes) {
  constexpr int64_t kWithheldBytesMax = 128 << 10;
  return std::min(kWithheldBytesMax, static_cast<int64_t>(fragment_bytes_max) / processes);
}

}  // namespace

DeferredWork::DeferredWork(PeerIndex self, int processes, transport::Transport& transport)
    : self_(self),
      runs_(transport.bounce_buffers()),
      local_path_(transport.local_path()),
      emptied_bytes_max_(withheld_bytes_max(runs_.fragment_bytes_max(), processes)) {}

void DeferredWork::sent_in_buffers(int64_t bytes) {
  if (bytes > 2 * kAheadBytesMax) return;
  ahead_bytes_ = std::min(kAheadBytesMax, ahead_bytes_ + bytes);
  any_ = true;
}

void DeferredWork::release(PeerIndex from, const Fragment& fragment) {
  emptied_[static_cast<size_t>(emptied_count_++)] = {from, fragment};
  emptied_bytes_ += fragment.bytes;
  any_ = true;
  if (emptied_count_ == kEntriesMax || emptied_bytes_ > emptied_bytes_max_) release_now();
}

void DeferredWork::release_now() {
  for (int i = 0; i < emptied_count_; ++i) {
    const Emptied& emptied = emptied_[static_cast<size_t>(i)];
    runs_.release(owner_of(emptied.fragment, self_, emptied.from), number_of(emptied.fragment), emptied.from);
  }
  emptied_count_ = 0;
  emptied_bytes_ = 0;
}

// Prefetches one bounce buffer per call.
void DeferredWork::run() {
  release_now();
  for (int i = 0; i < sent_count_; ++i) {
    const Sent& sent = sent_[static_cast<size_t>(i)];
    if (local_path_.prefetch_room(sent.to, sent.bytes)) *sent.prefetched = sent.bytes;
  }
  sent_count_ = 0;
  if (ahead_bytes_ != 0 && !local_path_.prefetch_buffer(static_cast<size_t>(ahead_bytes_))) ahead_bytes_ = 0;
  any_ = ahead_bytes_ != 0;
}

}  // namespace hearth::p2p
