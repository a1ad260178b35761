// Deferred work, done while a call is blocked, to keep it off the critical path of messages:
//
//   release of bounce buffers   The mark is in the owner's cache. Stores become visible in order, so an
//                               answer would have to wait for the store of the mark.
//   prefetch for write          Ring slots for a packet as long as the last one to each peer, and the next
//                               bounce buffers, come from the cache of the process that read them last.
//
// If the cores share no cache, each of these saves a message a cache-to-cache transfer of 250 ns or more
// (docs/notebook/copying.md).
#include <algorithm>

#include "p2p/engine.h"

namespace hearth::p2p {
namespace {

// More would evict the program's own data from L2.
constexpr int64_t kCellsAheadBytesMax = 64 << 10;

}  // namespace

int64_t Engine::withheld_bytes_max(size_t part_bytes_max, int processes) {
  constexpr int64_t kWithheldBytesMax = 128 << 10;
  return std::min(kWithheldBytesMax, static_cast<int64_t>(part_bytes_max) / processes);
}

// Two thirds of a pool, of which part_bytes_max is a quarter, divided among all peers.
int64_t Engine::recycled_bytes_max(size_t part_bytes_max, int processes) {
  return static_cast<int64_t>(part_bytes_max) * 8 / 3 / std::max(processes - 1, 1);
}

void Engine::note_sent(PeerIndex to, int64_t bytes) {
  if (sent_count_ == kDeferredMax) return;
  sent_[static_cast<size_t>(sent_count_++)] = {to, bytes};
  has_deferred_work_ = true;
}

// Defers the release; the owner uses other buffers meanwhile. The bytes that all receivers together withhold
// are bounded, so the owner always has some, even if this process does not call MPI for a long time.
void Engine::give_back(PeerIndex from, const CellPart& part) {
  emptied_[static_cast<size_t>(emptied_count_++)] = {from, part};
  emptied_bytes_ += part.bytes;
  has_deferred_work_ = true;
  if (emptied_count_ == kDeferredMax || emptied_bytes_ > emptied_bytes_max_) give_back_now();
}

void Engine::give_back_now() {
  for (int i = 0; i < emptied_count_; ++i) {
    const EmptiedCells& emptied = emptied_[static_cast<size_t>(i)];
    bounce_buffers_.release(owner_of(emptied.from, emptied.part), number_of(emptied.part), emptied.from);
  }
  emptied_count_ = 0;
  emptied_bytes_ = 0;
}

void Engine::give_back_recycled(PeerIndex peer) {
  RecycledBuffers& recycled = peers_[static_cast<size_t>(peer)].recycled;
  while (!recycled.empty()) give_back(peer, recycled.take());
  give_back_now();
}

// Prefetches one cell per call, so that polling continues in between.
void Engine::do_deferred_work() {
  give_back_now();
  for (int i = 0; i < sent_count_; ++i) {
    const Sent& sent = sent_[static_cast<size_t>(i)];
    Peer& peer = peers_[static_cast<size_t>(sent.to)];
    if (static_cast<uint64_t>(sent.bytes) <= peer.protocol.ring_bytes_max) {
      const auto bytes = static_cast<size_t>(sent.bytes);
      if (local_path_.prefetch_room(sent.to, bytes)) peer.room_prefetched = static_cast<uint32_t>(bytes);
    } else if (peer.store_policy.near() && sent.bytes <= 2 * kCellsAheadBytesMax) {
      cells_ahead_bytes_ = static_cast<size_t>(
          std::min(kCellsAheadBytesMax, static_cast<int64_t>(cells_ahead_bytes_) + sent.bytes));
    }
  }
  sent_count_ = 0;
  if (cells_ahead_bytes_ != 0 && !local_path_.prefetch_cell(cells_ahead_bytes_)) cells_ahead_bytes_ = 0;
  has_deferred_work_ = cells_ahead_bytes_ != 0;
}

}  // namespace hearth::p2p
