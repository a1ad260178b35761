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

int Node::pid_of(PeerIndex peer) const {
  const RankBlock& other = block_of(peer);
  return os::same_numbering(other.pid_numbering, block().pid_numbering) ? static_cast<int>(other.pid) : 0;
}

bool Node::is_gone(PeerIndex peer) const {
  // Pairs with the release stores of Liveness::tell() and mark().
  if (atomic::load_acquire(block_of(peer).dead) != 0) return true;
  const int pid = pid_of(peer);
  if (pid <= 0) return false;
  os::Descriptor& process = processes_[static_cast<size_t>(local_rank_of(peer))];
  if (!process.open()) process = os::open_process(pid);
  return process.open() ? os::is_gone(process) : errno == ESRCH;
}

}  // namespace hearth::shm
