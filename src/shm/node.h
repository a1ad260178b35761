// This process's machine, as one object: the segment and the arena of its ranks, which process of the job has
// which local rank, and which of these processes still run. The segment and the arena number processes by
// local rank; everything above numbers them by PeerIndex, and converts here.
//
// In this layer, because transports, collectives and windows need it, and because it knows nothing but shared
// memory; the rank's start (launch/bootstrap.h) determines what it contains. The process has one, which
// abi/runtime.h creates before the transport and which stays as long as the process. Functions without an
// object of their own reach it by shm::node(). Tests play several processes with one object for each.
//
// Under the library's lock. All memory is private to this process, apart from segment and arena.
#pragma once

#include <vector>

#include "base/os_io.h"
#include "base/peer_index.h"
#include "shm/arena.h"
#include "shm/liveness.h"
#include "shm/segment.h"

namespace hearth::shm {

class Node;

/// How this process reaches a process of another job.
struct ForeignProcess {
  const Node* bridge = nullptr;      // the segment that both are in; nullptr: there is none
  const Segment* segment = nullptr;  // of its job; nullptr: not mapped here
  ArenaSlices* arena = nullptr;      // of its job; nullptr: not mapped here
};

/// The bounce buffers of a process: the pool of a rank in a segment.
struct PoolPlace {
  const Segment* segment;  // nullptr: not mapped here
  int rank;
};

class Node {
 public:
  /// Segment and arena must outlive it. `arena` may be nullptr. `local_ranks`: the local rank of each process
  /// of the job, -1 on other machines; empty: all are on this machine, in their order. `machines`: the
  /// machine of each process, real or simulated; empty: there is one.
  Node(const Segment& segment, int local_rank, Arena* arena = nullptr, std::vector<int> local_ranks = {},
       std::vector<int> machines = {});

  const Segment& segment() const { return segment_; }
  /// nullptr if there is no arena, or if it could not be used when this object was created.
  Arena* arena() const { return arena_; }
  const Liveness& liveness() const { return liveness_; }

  // Processes.
  PeerIndex self() const { return peer_at(local_rank_); }
  int local_rank() const { return local_rank_; }
  /// Local rank of a process; -1 if it is on another machine or in another job.
  int local_rank_of(PeerIndex peer) const {
    const auto index = static_cast<size_t>(peer);
    if (local_ranks_.empty()) return index < processes_.size() ? static_cast<int>(peer) : -1;
    return index < local_ranks_.size() ? local_ranks_[index] : -1;
  }
  PeerIndex peer_at(int local_rank) const {
    return peers_.empty() ? local_rank : peers_[static_cast<size_t>(local_rank)];
  }
  bool has(PeerIndex peer) const { return local_rank_of(peer) >= 0; }
  /// Whether every process of the job is on this machine.
  bool has_all() const { return local_ranks_.empty(); }
  /// Whether the processes of the job count as being on several machines, real or simulated.
  bool is_one_of_several() const { return !machines_.empty(); }
  /// Whether this process and another one may use shared memory as an alternative to messages: has(), and on
  /// the same simulated machine.
  bool shares_memory_with(PeerIndex peer) const {
    return has(peer) && (machines_.empty() ||
                         machines_[static_cast<size_t>(peer)] == machines_[static_cast<size_t>(self())]);
  }

  /// The block of this process, and of another one. Pre: has(peer).
  RankBlock& block() const { return segment_.rank(local_rank_); }
  RankBlock& block_of(PeerIndex peer) const { return segment_.rank(local_rank_of(peer)); }

  // Processes of other jobs (abi/bridges.h).
  /// Pre: `peer` is of another job. What it refers to lives until the next call for this process.
  void set_foreign(PeerIndex peer, const ForeignProcess& process);
  const ForeignProcess& foreign(PeerIndex peer) const;
  /// The segment that this process and another one are in: this one, or that of a bridge; nullptr: none.
  const Node* shared_with(PeerIndex peer) const { return has(peer) ? this : foreign(peer).bridge; }
  /// Whether this process and one of another job have both mapped the segments of each other's jobs.
  bool shares_pools_with(PeerIndex peer) const;
  PoolPlace pool_of(PeerIndex owner) const {
    const int local = local_rank_of(owner);
    return __builtin_expect(local >= 0, 1) ? PoolPlace{&segment_, local} : foreign_pool_of(owner);
  }
  /// Address of memory in the arena slice of a process; nullptr if it cannot be mapped here.
  std::byte* arena_memory_of(PeerIndex peer, uint64_t offset, size_t bytes) const;

  // The processes of the system. Pre: has(peer).
  /// The PID of a process that has published it; 0 if it denotes another process in this PID namespace, or
  /// may.
  int pid_of(PeerIndex peer) const;
  /// Whether a process has certainly ended. The launcher marks dead processes. If another library launched
  /// the job, or the launcher is slow, a pidfd shows the end. The first call opens it, and it stays open,
  /// because the system may reuse the PID of an ended process.
  bool is_gone(PeerIndex peer) const;

 private:
  PoolPlace foreign_pool_of(PeerIndex owner) const;
  size_t job_size() const { return local_ranks_.empty() ? processes_.size() : local_ranks_.size(); }

  const Segment& segment_;
  Arena* const arena_;
  const Liveness liveness_;
  const int local_rank_;
  const std::vector<int> local_ranks_;             // by PeerIndex, or empty
  const std::vector<int> machines_;                // by PeerIndex, or empty
  std::vector<PeerIndex> peers_;                   // by local rank, or empty
  mutable std::vector<os::Descriptor> processes_;  // by local rank: pidfds
  std::vector<ForeignProcess> foreign_;            // by PeerIndex less the size of the job
};

/// The process's machine, from attaching to the job to the end of the process; nullptr before. A global,
/// because code without an object of its own needs it: hooks of communicators, callbacks of the transports,
/// the ends of exiting and forked processes.
inline const Node* process_node = nullptr;
/// Pre: attached.
inline const Node& node() {
  return *process_node;
}

}  // namespace hearth::shm
