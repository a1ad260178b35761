// Communicators: a group, a context that keeps its messages apart, and what users attach to it.
#pragma once

#include <string>

#include "mpi.h"
#include "objects/attribute.h"
#include "objects/errhandler.h"
#include "objects/group.h"
#include "objects/info.h"
#include "objects/object.h"

namespace hearth::objects {

struct Comm : Object {
  /// Messages of point-to-point calls carry `context`, those of collectives `context + 1`. Even, unique on
  /// the machine (shm::Segment hands them out).
  uint32_t context = 0;
  int rank = 0;
  int size = 0;  // of the local group
  /// Peer table of the group that ranks in calls refer to: the local group, or the remote one of an
  /// intercommunicator. peers[rank] is a PeerIndex.
  const PeerIndex* peers = nullptr;
  int peer_count = 0;
  Group* group = nullptr;         // one reference held
  Group* remote_group = nullptr;  // nullptr for an intracommunicator; one reference held otherwise
  Errhandler* errhandler = nullptr;
  Info* info = nullptr;  // hints in force; nullptr when none
  /// How many collectives, and how many persistent ones, were called here so far: the same on all ranks.
  /// Their messages are told apart by it.
  uint32_t collectives = 0;
  uint32_t persistent_collectives = 0;
  std::string name;
  Attributes attributes;

  bool is_inter() const { return remote_group != nullptr; }
  /// Rank, as calls on this communicator name it, of a process; MPI_UNDEFINED when it is not in it.
  int rank_of(PeerIndex peer) const { return (is_inter() ? remote_group : group)->rank_of(peer); }
};

}  // namespace hearth::objects
