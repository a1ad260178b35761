// Division of a group's processes by machine, for collectives on several machines (coll/levels.h). Belongs to
// the groups of communicators with processes on more than one machine; duplicates share it with their group.
//
// Takes three words per process. Immutable after creation, under the library's lock.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/peer_index.h"

namespace hearth::objects {

using hearth::PeerIndex;

struct Machines {
  /// Sorted by machine, machines by their lowest rank, and by rank within a machine.
  std::vector<int> ranks;
  std::vector<PeerIndex> peers;  // the same processes as peers
  std::vector<int> begins;       // first index of each machine in `ranks`, then the total
  std::vector<int> machine_of;   // by rank
  int own = 0;                   // the machine of the calling process
  int place = 0;                 // index of the calling process among those of its machine
  bool in_order = true;          // `ranks` is 0, 1, 2, ...
  bool equal = true;             // all machines have the same number of processes

  int count() const { return static_cast<int>(begins.size()) - 1; }
  int begin(int machine) const { return begins[static_cast<size_t>(machine)]; }
  int size(int machine) const { return begin(machine + 1) - begin(machine); }
  /// Whether some machine has several of the processes, so that collectives gain from the hierarchy.
  bool share() const { return machine_of.size() > begins.size() - 1; }
  std::span<const PeerIndex> peers_on(int machine) const {
    return std::span(peers).subspan(static_cast<size_t>(begin(machine)), static_cast<size_t>(size(machine)));
  }
  int rank_on(int machine, int at) const { return ranks[static_cast<size_t>(begin(machine) + at)]; }
};

/// Divides these processes; the calling one has `rank`. `node_of` has the machine of each process of the job,
/// numbered from 0. nullptr if all are on one machine.
std::unique_ptr<const Machines> divide(const std::vector<PeerIndex>& peers, int rank,
                                       std::span<const int> node_of);

}  // namespace hearth::objects
