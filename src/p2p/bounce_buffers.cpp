#include "p2p/bounce_buffers.h"

#include <algorithm>
#include <new>

#include "mpi.h"
#include "shm/corruption.h"

namespace hearth::p2p {
namespace {

// Two thirds of a pool, of which fragment_bytes_max is a quarter, divided among all peers.
int64_t share_of_pool(size_t fragment_bytes_max, int processes) {
  return static_cast<int64_t>(fragment_bytes_max) * 8 / 3 / std::max(processes - 1, 1);
}

}  // namespace

BounceBuffers::BounceBuffers(PeerIndex self, const PeerRoom& room, transport::Transport& transport,
                             DeferredWork& deferred, const FatalErrors& errors)
    : self_(self),
      home_size_(room.count),
      runs_(transport.bounce_buffers()),
      deferred_(deferred),
      errors_(errors),
      recycled_bytes_max_(share_of_pool(runs_.fragment_bytes_max(), room.count)),
      recycled_(room) {}

BounceBuffers::~BounceBuffers() {
  for (PeerIndex peer = 0; peer < static_cast<PeerIndex>(recycled_.size()); ++peer) release_recycled(peer);
}

// Processes of other jobs together keep at most half of what those of the own job may keep.
int64_t BounceBuffers::foreign_recycled_bytes_max() const {
  return share_of_pool(runs_.fragment_bytes_max(), static_cast<int>(recycled_.size())) / 2;
}

int BounceBuffers::take(PeerIndex to, size_t bytes, const transport::BounceBuffers::RunOptions& options) {
  const int buffer = runs_.take(bytes, options);
  if (buffer >= 0) note_receiver(buffer, to);
  return buffer;
}

void BounceBuffers::grow_receivers(size_t buffers) try {
  receivers_.resize(buffers, MPI_PROC_NULL);
} catch (const std::bad_alloc&) {
  errors_.out_of_memory("the table of bounce buffers");
}

void BounceBuffers::came(PeerIndex from, const Fragment& fragment) {
  if (!(fragment.buffer & kBufferOfReceiver)) return;
  const size_t buffer = fragment.buffer & ~kBufferOfReceiver;
  if (buffer >= receivers_.size() || receivers_[buffer] != from) refuse(from, fragment);
  receivers_[buffer] = MPI_PROC_NULL;
}

const std::byte* BounceBuffers::memory_of(PeerIndex from, const Fragment& fragment) const {
  const std::byte* memory =
      runs_.memory(owner_of(fragment, self_, from), number_of(fragment), fragment.bytes);
  if (memory == nullptr) refuse(from, fragment);
  return memory;
}

void BounceBuffers::drop(PeerIndex from, const Fragment& fragment) {
  if (runs_.memory(owner_of(fragment, self_, from), number_of(fragment), fragment.bytes) != nullptr) {
    deferred_.release(from, fragment);
  }
}

void BounceBuffers::release_recycled(PeerIndex peer) {
  while (!recycled(peer).empty()) deferred_.release(peer, recycled(peer).take());
  deferred_.release_now();
}

void BounceBuffers::forget(PeerIndex process) {
  release_recycled(process);
  std::replace(receivers_.begin(), receivers_.end(), process, PeerIndex{MPI_PROC_NULL});
}

void BounceBuffers::reclaim(PeerIndex process) {
  for (size_t at = 0; at < receivers_.size(); ++at) {
    if (receivers_[at] != process) continue;
    const auto buffer = static_cast<int>(at);
    if (!runs_.returned(self_, buffer, runs_.ticket(self_, buffer))) {
      runs_.release(self_, buffer, self_);
    }
    receivers_[at] = MPI_PROC_NULL;
  }
}

void BounceBuffers::refuse(PeerIndex from, const Fragment& fragment) const {
  shm::report_corruption(
      "rank %d tells rank %d of %u bytes in bounce buffer %d of rank %d's pool, which are not there", from,
      self_, fragment.bytes, number_of(fragment), owner_of(fragment, self_, from));
}

}  // namespace hearth::p2p
