// Collectives among ranks on several machines, composed of other algorithms of this folder. Parts among the
// ranks of one machine use the means of that machine (slots, pipeline buffers, messages). Parts among one
// rank of each machine, its leader, use messages. The algorithm `machines` of a collective is a sequence of
// such parts:
//
//   reduce    on each machine: reduce to its leader     among leaders: reduce
//   bcast     among leaders: bcast                      on each machine: bcast from its leader
//
//   machine 0   [ 0  1  2  3 ]      the leader of a machine is its lowest rank,
//                 |                 on the root's machine the root
//   machine 1   [ 4  5  6  7 ]
//
// In each part ranks count from 0: local ranks on a machine, numbers of machines among leaders. Data cross
// the network once per machine in any order of ranks, and each part selects its algorithm from its own table.
// A part may use the results of the previous one.
//
// Lives on the stack while a schedule is built.
#pragma once

#include <vector>

#include "coll/schedule.h"
#include "coll/select.h"
#include "objects/machines.h"

namespace hearth::coll {

class Levels {
 public:
  static constexpr int kNoRoot = -1;

  /// Pre: schedule.machines() is not nullptr. If `root` is kLast, the last rank of each machine is its
  /// leader.
  static constexpr int kLast = -2;
  explicit Levels(Schedule& schedule, int root = kNoRoot);

  const objects::Machines& machines() const { return machines_; }
  /// The machine of this rank, the number of its ranks, and the local rank of this one.
  int own() const { return machines_.own; }
  int size() const { return machines_.size(machines_.own); }
  int place() const { return machines_.place; }
  int root_machine() const { return root_machine_; }
  /// The local rank of this machine's leader.
  int leader() const { return leader_place(machines_.own); }
  bool leads() const { return leader() == machines_.place; }

  /// A part among the ranks of this machine; `build()` adds its steps. Left out if the machine has one rank.
  template <class Build>
  Status on_machine(Build build) {
    if (size() == 1) return {};
    return on_machine_of_any_size(build);
  }
  /// The same, but added even if the machine has one rank.
  template <class Build>
  Status on_machine_of_any_size(Build build) {
    HEARTH_TRY(schedule_.agree_on_region());
    schedule_.next_round();
    const Schedule::Part part(schedule_, machines_.peers_on(machines_.own), machines_.place, true);
    return build();
  }
  /// A part among the leaders; it does nothing on other ranks.
  template <class Build>
  Status among_leaders(Build build) {
    if (!leads()) return {};
    schedule_.next_round();
    const std::vector<objects::PeerIndex> leaders = peers_of_leaders();
    const Schedule::Part part(schedule_, leaders, machines_.own, false);
    return build();
  }

 private:
  int leader_place(int machine) const {
    if (root_ == kLast) return machines_.size(machine) - 1;
    return machine == root_machine_ ? root_place_ : 0;
  }
  std::vector<objects::PeerIndex> peers_of_leaders() const;

  Schedule& schedule_;
  const objects::Machines& machines_;
  const int root_;
  int root_machine_ = 0;
  int root_place_ = 0;
};

/// The layout of packed blocks, one per rank, machine after machine: of each rank's block, and of all blocks
/// of a machine together.
class PackedBlocks {
 public:
  /// `bytes_of(rank)`: length of that rank's block.
  template <class BytesOf>
  Status lay_out(Schedule& schedule, const objects::Machines& machines, const BytesOf& bytes_of) {
    HEARTH_TRY(reserve(schedule, machines));
    for (int at = 0; at < schedule.size(); ++at)
      lengths_[at] = bytes_of(machines.ranks[static_cast<size_t>(at)]);
    sum_up(machines, schedule.size());
    return {};
  }

  int64_t total() const { return total_; }
  /// By the position of a rank in machine order.
  int64_t begin(int at) const { return begins_[at]; }
  int64_t length(int at) const { return lengths_[at]; }
  int64_t machine_begin(int machine) const { return machine_begins_[machine]; }
  int64_t machine_length(int machine) const { return machine_lengths_[machine]; }

  /// Arguments of calls with blocks of any lengths: of the ranks from position `first` on; of the machines.
  CountArray lengths(int first) const { return CountArray(lengths_ + first); }
  CountArray begins(int first) const { return CountArray(begins_ + first); }
  CountArray machine_lengths() const { return CountArray(machine_lengths_); }

  // Parts (Levels). `packed` is the address of position 0. It has room for all blocks or only for those that
  // the calling process accesses.

  /// On a machine: gathers the blocks of its ranks to the leader.
  Status gather(Schedule& schedule, const Levels& levels, std::byte* packed) const;
  /// The reverse: scatters them from the leader.
  Status scatter(Schedule& schedule, const Levels& levels, std::byte* packed) const;
  /// Among leaders: the blocks of each machine go to all leaders, to that of the root's machine, or from
  /// there.
  Status allgather_machines(Schedule& schedule, std::byte* packed) const;
  Status gather_machines(Schedule& schedule, const Levels& levels, std::byte* packed) const;
  Status scatter_machines(Schedule& schedule, const Levels& levels, std::byte* packed) const;

 private:
  Status reserve(Schedule& schedule, const objects::Machines& machines);
  void sum_up(const objects::Machines& machines, int ranks);

  int64_t* lengths_ = nullptr;
  int64_t* begins_ = nullptr;
  int64_t* machine_lengths_ = nullptr;
  int64_t* machine_begins_ = nullptr;
  int64_t total_ = 0;
};

/// Sets the members of `shape` that describe the machines of the communicator.
void describe_machines(const Schedule& schedule, Shape& shape);

}  // namespace hearth::coll
