// Communicators: a group, a context that keeps its messages apart, and what users attach to it.
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
class ControlArea;
}

namespace hearth::objects {

constexpr int32_t kNoArea = -1;

/// What one process fetches for all that a new communicator, or the parts of a split, will consist of, and
/// tells them.
struct Allotment {
  /// The first of the numbers that keep this communicator's messages apart (base/contexts.h).
  uint32_t context = 0;
  /// Where its processes meet in collectives (coll/control_area.h); those of each machine in an area there,
  /// where they are on several. This process counts as a member of that area until it leaves.
  int32_t area = kNoArea;
};

struct Comm : Object, Allotment {
  int rank = 0;  // in the local group
  int size = 0;  // of the local group
  /// Peer table of the group that ranks in calls refer to: the local group, or the remote one of an
  /// intercommunicator. peers[rank] is a PeerIndex.
  const PeerIndex* peers = nullptr;
  int peer_count = 0;
  Group* group = nullptr;                    // one reference held
  Group* remote_group = nullptr;             // nullptr for an intracommunicator; one reference held otherwise
  std::shared_ptr<const Topology> topology;  // shared with duplicates; nullptr for none
  Errhandler* errhandler = nullptr;
  Info* info = nullptr;  // hints in force; nullptr when none
  /// This process's view of the area; made by the first collective that goes there. Where the processes are
  /// on several machines it is one of those on this machine only, under the second name.
  coll::ControlArea* control = nullptr;
  coll::ControlArea* machine_control = nullptr;
  /// On several machines: whether those of this machine have agreed on an area, or that there is none.
  bool area_settled = false;
  /// How many collectives, and how many persistent ones, were called here so far: the same on all ranks.
  /// Their messages are told apart by it.
  uint32_t collectives = 0;
  uint32_t persistent_collectives = 0;
  // Failures (p2p/failure.cpp). Deaths by their numbers (shm/liveness.h).
  /// What collective calls come to: MPIX_ERR_PROC_FAILED since a member has died, MPIX_ERR_REVOKED; else 0.
  int failure = 0;
  uint32_t last_death = 0;           // of a member; 0: none
  uint32_t deaths_acknowledged = 0;  // the first so many
  /// Agreements (coll/agreement.h) begun here, and over here.
  uint32_t agreements = 0;
  uint32_t agreements_over = 0;
  std::string name;
  bool of_window = false;  // the own communicator of a window: `name` is the window's, in words
  Attributes attributes;

  /// Neighbours in the topology, from which and to which neighbourhood collectives go; 0 without one.
  int in_degree() const { return topology == nullptr ? 0 : static_cast<int>(topology->sources.size()); }
  int out_degree() const { return topology == nullptr ? 0 : static_cast<int>(topology->destinations.size()); }

  bool is_inter() const { return remote_group != nullptr; }
  /// Rank, as calls on this communicator name it, of a process; MPI_UNDEFINED when it is not in it.
  int rank_of(PeerIndex peer) const { return (is_inter() ? remote_group : group)->rank_of(peer); }
};

/// What src/coll does when a communicator with an area ends.
inline void (*leave_area)(Comm& comm) = nullptr;
/// And when no collective of a communicator may go there any more, because of a failure.
inline void (*close_area)(Comm& comm) = nullptr;
/// And when a process has died that may have been in some.
inline void (*leave_areas_of)(PeerIndex process) = nullptr;
/// And for areas of which this process was not told, when somebody has died. Until all have left those.
inline void (*leave_areas_untold)() = nullptr;

}  // namespace hearth::objects
