#include "p2p/bounce_buffers.h"

#include <algorithm>
#include <new>

#include "mpi.h"
#include "shm/corruption.h"

namespace hearth::p2p {
namespace {

// Two thirds of a pool, of which part_bytes_max is a quarter, divided among all peers.
int64_t share_of_pool(size_t part_bytes_max, int processes) {
  return static_cast<int64_t>(part_bytes_max) * 8 / 3 / std::max(processes - 1, 1);
}

}  // namespace

BounceBuffers::BounceBuffers(PeerIndex self, const PeerRoom& room, transport::Transport& transport,
                             DeferredWork& deferred, const FatalErrors& errors)
    : self_(self),
      home_size_(room.count),
      runs_(transport.bounce_buffers()),
      deferred_(deferred),
      errors_(errors),
      recycled_bytes_max_(share_of_pool(runs_.part_bytes_max(), room.count)),
      recycled_(room) {}

BounceBuffers::~BounceBuffers() {
  for (PeerIndex peer = 0; peer < static_cast<PeerIndex>(recycled_.size()); ++peer) release_recycled(peer);
}

// Processes of other jobs together keep at most half of what those of the own job may keep.
int64_t BounceBuffers::foreign_recycled_bytes_max() const {
  return share_of_pool(runs_.part_bytes_max(), static_cast<int>(recycled_.size())) / 2;
}

int BounceBuffers::take(PeerIndex to, size_t bytes, bool gap) {
  const int cell = runs_.take(bytes, gap);
  if (cell >= 0) note_receiver(cell, to);
  return cell;
}

void BounceBuffers::grow_receivers(size_t cells) try {
  receivers_.resize(cells, MPI_PROC_NULL);
} catch (const std::bad_alloc&) {
  errors_.out_of_memory("the table of cells");
}

void BounceBuffers::came(PeerIndex from, const CellPart& part) {
  if (!(part.cell & kCellOfReceiver)) return;
  const size_t cell = part.cell & ~kCellOfReceiver;
  if (cell >= receivers_.size() || receivers_[cell] != from) refuse(from, part);
  receivers_[cell] = MPI_PROC_NULL;
}

const std::byte* BounceBuffers::memory_of(PeerIndex from, const CellPart& part) const {
  const std::byte* memory = runs_.memory(owner_of(part, self_, from), number_of(part), part.bytes);
  if (memory == nullptr) refuse(from, part);
  return memory;
}

void BounceBuffers::drop(PeerIndex from, const CellPart& part) {
  if (runs_.memory(owner_of(part, self_, from), number_of(part), part.bytes) != nullptr) {
    deferred_.release(from, part);
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
    const auto cell = static_cast<int>(at);
    if (!runs_.returned(self_, cell, runs_.ticket(self_, cell))) {
      runs_.release(self_, cell, self_);
    }
    receivers_[at] = MPI_PROC_NULL;
  }
}

void BounceBuffers::refuse(PeerIndex from, const CellPart& part) const {
  shm::report_corruption(
      "rank %d tells rank %d of %u bytes in cell %d of rank %d's pool, which are not there", from, self_,
      part.bytes, number_of(part), owner_of(part, self_, from));
}

}  // namespace hearth::p2p
