// The collective regions of the job, as one process sees them: their allocation, and the processes that may
// still use each.
//
// The number of regions is limited. One process allocates a region for all members of a new communicator,
// counts them in it, and then distributes the region id together with the context id (abi/comm_making.h).
// Each process that receives the id leaves the region exactly once: when its communicator is freed, or
// immediately if no communicator results. The last process to leave clears the rows and frees the region. A
// process that has left stores nothing in the region any more, but its row stays readable. If a process dies,
// the processes that detect its death leave on its behalf (p2p/failure_handler.h). If it was allocating or
// clearing a region, another process finishes that: the state word of each region names the process that
// works on it (shm/layout.h).
//
// If a process dies before all members have received the region id, some may never receive it: the dead
// process was to forward it, or their call fails because of the death. They cannot know whether the id is
// still in flight, and need not know it. The counted members are recorded in the region. A process that has
// not received the id leaves a region in which it is counted together with a process that it knows to be
// dead. If the id arrives later, accept() rejects it: the id contains the generation of the region, and this
// process has left in that generation. The new communicator then has no region on this process. This makes no
// difference, because it has a member that this process knows to be dead, and so runs no collectives here. A
// part of a split may have no dead member; there the call fails, as it may after the death of a member of the
// communicator that is split. So each counted member leaves exactly once, even if it never received the id.
// Nothing changes for a process that received the id, or if no process died.
//
// The process has one pool, from attaching to the job on (abi/runtime.h). Used under the library's lock.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/peer_index.h"
#include "shm/layout.h"
#include "shm/node.h"

namespace hearth::coll {

class RegionPool {
 public:
  /// The regions of this machine's segment. `node` outlives the pool; nullptr: there are no regions.
  explicit RegionPool(const shm::Node* node);

  /// Allocates a region for these processes and records that this process has its id. Returns kNoRegion if
  /// there are fewer than two processes or no region is available. A region id combines the index of the
  /// region and its generation.
  int32_t take(std::span<const PeerIndex> members);
  /// The same for a persistent operation: fails if half of the regions are taken. Concurrent allocations may
  /// exceed this limit.
  int32_t take_for_operation(std::span<const PeerIndex> members);
  /// Called by a process that has received a region id. Returns the id, which the process must leave once;
  /// kNoRegion if the process has already left because another member died.
  int32_t accept(int32_t region_id);
  /// Whether a number that came from another process is a possible region id, or kNoRegion.
  bool can_be(int32_t region_id) const;
  /// Index of the region.
  static int index_of(int32_t region_id) { return region_id % static_cast<int32_t>(shm::kRegionsMax); }
  /// Called by a counted process that does not access the region any more.
  void leave(int32_t region_id);
  /// The same for the process with this local rank. Only the first call counts.
  void leave(int32_t region_id, int local_rank);
  /// Records that a process has died, and leaves all regions on its behalf.
  void note_death(int local_rank);
  /// Leaves all regions on behalf of a process that has died.
  void leave_all(int local_rank);
  /// Leaves the regions whose id this process has not received and that count a member known to be dead.
  void leave_without_id();
  /// Number of allocated regions of the job, for the tool interface.
  uint64_t count_taken() const;

 private:
  std::span<uint64_t> states() const;
  shm::RegionState state_of(int region) const;
  bool change(int region, shm::RegionState seen, shm::RegionState next);
  int32_t take_below(uint32_t most, std::span<const PeerIndex> members);
  /// Claims the first free region; kNoRegion if `most` regions are taken.
  int claim(uint32_t most);
  void give_back(int region);
  /// Clears and frees a region whose state is still `seen`. If several processes call this, one succeeds.
  void clear(int region, shm::RegionState seen);
  /// Called after leaving, and after the death of a process that may have been about to call it.
  void clear_if_left(int region);

  const shm::Node* const node_;
  /// By region: 1 + the last generation whose id this process received.
  std::array<uint64_t, shm::kRegionsMax> known_generations_ = {};
  /// By local rank, as bits: processes known to be dead.
  std::vector<uint64_t> dead_;
};

/// The process's pool. A global, like p2p::engine(), because the hooks by which communicators leave their
/// regions (objects/comm.h) have no object of their own.
inline RegionPool* process_region_pool = nullptr;
/// Pre: use_regions() (coll/collective_region.h) was called.
inline RegionPool& region_pool() {
  return *process_region_pool;
}

}  // namespace hearth::coll
