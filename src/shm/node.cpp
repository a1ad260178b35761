#include "shm/node.h"

#include <cerrno>
#include <utility>

#include "base/atomic.h"
#include "base/os_process.h"

namespace hearth::shm {

Node::Node(const Segment& segment, int local_rank, Arena* arena, std::vector<int> local_ranks,
           std::vector<int> machines)
    : segment_(segment),
      arena_(arena != nullptr && arena->usable() ? arena : nullptr),
      liveness_(segment),
      local_rank_(local_rank),
      local_ranks_(std::move(local_ranks)),
      machines_(std::move(machines)),
      processes_(static_cast<size_t>(segment.rank_count())) {
  if (!local_ranks_.empty()) peers_.resize(processes_.size());
  for (size_t peer = 0; peer < local_ranks_.size(); ++peer) {
    if (local_ranks_[peer] >= 0) {
      peers_[static_cast<size_t>(local_ranks_[peer])] = static_cast<PeerIndex>(peer);
    }
  }
}

void Node::set_foreign(PeerIndex peer, const ForeignProcess& process) {
  const size_t index = static_cast<size_t>(peer) - job_size();
  if (index >= foreign_.size()) foreign_.resize(index + 1);
  foreign_[index] = process;
}

const ForeignProcess& Node::foreign(PeerIndex peer) const {
  static constexpr ForeignProcess kNone;
  const size_t index = static_cast<size_t>(peer) - job_size();
  return index < foreign_.size() ? foreign_[index] : kNone;
}

bool Node::shares_pools_with(PeerIndex peer) const {
  return foreign_pool_of(peer).segment != nullptr &&
         atomic::load_relaxed(foreign(peer).bridge->block_of(peer).maps_peers) != 0;
}

// The process has published its local rank before the connection was complete.
PoolPlace Node::foreign_pool_of(PeerIndex owner) const {
  const ForeignProcess& process = foreign(owner);
  if (process.segment == nullptr) return {nullptr, -1};
  const int rank = static_cast<int>(atomic::load_relaxed(process.bridge->block_of(owner).home_rank)) - 1;
  return {rank >= 0 && rank < process.segment->rank_count() ? process.segment : nullptr, rank};
}

std::byte* Node::arena_memory_of(PeerIndex peer, uint64_t offset, size_t bytes) const {
  if (const int local = local_rank_of(peer); local >= 0) {
    return arena_ == nullptr ? nullptr : arena_->memory_of(local, offset, bytes);
  }
  const PoolPlace place = foreign_pool_of(peer);
  ArenaSlices* const arena = foreign(peer).arena;
  return place.segment == nullptr || arena == nullptr ? nullptr : arena->memory_of(place.rank, offset, bytes);
}

int Node::pid_of(PeerIndex peer) const {
  const RankBlock& other = block_of(peer);
  return os::same_numbering(other.pid_numbering, block().pid_numbering) ? static_cast<int>(other.pid) : 0;
}

bool Node::is_gone(PeerIndex peer) const {
  // Pairs with the release stores of Liveness::publish() and mark().
  if (atomic::load_acquire(block_of(peer).dead) != 0) return true;
  const int pid = pid_of(peer);
  if (pid <= 0) return false;
  os::Descriptor& process = processes_[static_cast<size_t>(local_rank_of(peer))];
  if (!process.open()) process = os::open_process(pid);
  return process.open() ? os::is_gone(process) : errno == ESRCH;
}

}  // namespace hearth::shm
