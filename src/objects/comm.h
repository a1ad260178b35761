// Communicators: a group, a context that keeps its messages apart, and what users attach to it.
#pragma once

#include <memory>
#include <string>

#include "mpi.h"
#include "objects/attribute.h"
#include "objects/errhandler.h"
#include "objects/group.h"
#include "objects/info.h"
#include "objects/object.h"
#include "objects/topology.h"

namespace hearth::objects {

struct Comm : Object {
  /// The first of the numbers that keep this communicator's messages apart (base/contexts.h).
  uint32_t context = 0;
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
  /// How many collectives, and how many persistent ones, were called here so far: the same on all ranks.
  /// Their messages are told apart by it.
  uint32_t collectives = 0;
  uint32_t persistent_collectives = 0;
  std::string name;
  Attributes attributes;

  /// Neighbours in the topology, from which and to which neighbourhood collectives go; 0 without one.
  int in_degree() const { return topology == nullptr ? 0 : static_cast<int>(topology->sources.size()); }
  int out_degree() const { return topology == nullptr ? 0 : static_cast<int>(topology->destinations.size()); }

  bool is_inter() const { return remote_group != nullptr; }
  /// Rank, as calls on this communicator name it, of a process; MPI_UNDEFINED when it is not in it.
  int rank_of(PeerIndex peer) const { return (is_inter() ? remote_group : group)->rank_of(peer); }
};

}  // namespace hearth::objects
