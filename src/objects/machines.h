// Which processes of a group share a machine: what collectives among several machines are composed by
// (coll/levels.h). Belongs to the groups of communicators whose processes are on more than one; duplicates
// share it with their group.
//
// Takes three words for each process. Immutable once made, under the library's lock.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/peer_index.h"

namespace hearth::objects {

using hearth::PeerIndex;

struct Machines {
  /// Machine after machine, in the order of their lowest ranks; the ranks of each ascend.
  std::vector<int> ranks;
  std::vector<PeerIndex> peers;  // the same ones, as processes
  std::vector<int> begins;       // where each machine begins in them, and where the last one ends
  std::vector<int> machine_of;   // by rank
  int own = 0;                   // the machine of the calling process
  int place = 0;                 // and its place among those of that machine
  bool in_order = true;          // `ranks` is 0, 1, 2, ...
  bool equal = true;             // as many processes on each

  int count() const { return static_cast<int>(begins.size()) - 1; }
  int begin(int machine) const { return begins[static_cast<size_t>(machine)]; }
  int size(int machine) const { return begin(machine + 1) - begin(machine); }
  /// Whether there is something to compose: more than one machine, and some with several processes.
  bool share() const { return machine_of.size() > begins.size() - 1; }
  std::span<const PeerIndex> peers_on(int machine) const {
    return std::span(peers).subspan(static_cast<size_t>(begin(machine)), static_cast<size_t>(size(machine)));
  }
  int rank_on(int machine, int at) const { return ranks[static_cast<size_t>(begin(machine) + at)]; }
};

/// Of these processes, of which the calling one has `rank`; `node_of` has the machine of each process of the
/// job, numbered from 0. nullptr where all are on one.
std::unique_ptr<const Machines> divide(const std::vector<PeerIndex>& peers, int rank,
                                       std::span<const int> node_of);

}  // namespace hearth::objects
