// Communicators: a group, a context id that separates its messages from others, and the objects that users
// attach to it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "mpi.h"
#include "objects/attribute.h"
#include "objects/errhandler.h"
#include "objects/group.h"
#include "objects/info.h"
#include "objects/object.h"
#include "objects/topology.h"

namespace hearth::coll {
class CollectiveRegion;
}

namespace hearth::objects {

struct File;

constexpr int32_t kNoRegion = -1;

/// Resources of a new communicator, or of all parts of a split: one process allocates them for all members
/// and sends them the result.
struct ContextAllocation {
  /// The first of the communicator's context ids (base/contexts.h).
  uint32_t context = 0;
  /// Its collective region (coll/collective_region.h); of a communicator on several machines, the region of
  /// each machine. This process counts as a member of the region until it leaves it.
  int32_t region = kNoRegion;
};

struct Comm : Object, ContextAllocation {
  int rank = 0;  // in the local group
  int size = 0;  // of the local group
  /// Peer table of the group that ranks in calls refer to: the local group, or the remote group of an
  /// intercommunicator. peers[rank] is a PeerIndex.
  const PeerIndex* peers = nullptr;
  int peer_count = 0;
  Group* group = nullptr;                    // one reference held
  Group* remote_group = nullptr;             // nullptr for an intracommunicator; one reference held otherwise
  std::shared_ptr<const Topology> topology;  // shared with duplicates; nullptr for none
  Errhandler* errhandler = nullptr;
  Info* info = nullptr;  // hints in force; nullptr if there are none
  /// This process's view of the region, created by the first collective that uses it. `machine_region_view`
  /// is the view of a communicator on several machines; its region includes only the processes of this
  /// machine.
  coll::CollectiveRegion* region_view = nullptr;
  coll::CollectiveRegion* machine_region_view = nullptr;
  /// On several machines: whether the processes of this machine have agreed on a region, or on having none.
  bool region_agreed = false;
  /// Number of collectives, and of persistent ones, called so far; equal on all ranks. It separates the
  /// messages of different collectives.
  uint32_t collectives = 0;
  uint32_t persistent_collectives = 0;
  // Failures (p2p/failure_handler.h). Deaths are identified by their numbers (shm/liveness.h).
  /// The error of collective calls: MPIX_ERR_PROC_FAILED after the death of a member, MPIX_ERR_REVOKED after
  /// a revocation; otherwise 0.
  int failure = 0;
  uint32_t last_death = 0;           // of a member; 0: none
  uint32_t deaths_acknowledged = 0;  // deaths up to this number are acknowledged
  /// Agreements (coll/agreement.h) started, and completed, by this process.
  uint32_t agreements = 0;
  uint32_t agreements_over = 0;
  std::string name;
  bool of_window = false;  // internal communicator of a window: `name` is shown for the window
  /// Internal communicator of an open file: errors go to the file's error handler.
  File* of_file = nullptr;
  Attributes attributes;

  /// Neighbours of this process in the topology, for neighbourhood collectives; 0 without a topology.
  int in_degree() const { return topology == nullptr ? 0 : static_cast<int>(topology->sources.size()); }
  int out_degree() const { return topology == nullptr ? 0 : static_cast<int>(topology->destinations.size()); }

  bool is_inter() const { return remote_group != nullptr; }
  /// The rank of a process as calls on this communicator use it; MPI_UNDEFINED if it is not in it.
  int rank_of(PeerIndex peer) const { return (is_inter() ? remote_group : group)->rank_of(peer); }
};

/// Hooks that src/coll sets. Called when a communicator with a collective region is freed.
inline void (*leave_region)(Comm& comm) = nullptr;
/// Called when collectives of a communicator must no longer use its region, because of a failure.
inline void (*close_region)(Comm& comm) = nullptr;
/// Called after the death of a process, which may have been a member of regions.
inline void (*leave_regions_of)(PeerIndex process) = nullptr;
/// Called repeatedly after a death: leaves regions that count this process as a member although it was never
/// informed of them.
inline void (*leave_regions_without_id)() = nullptr;

}  // namespace hearth::objects
