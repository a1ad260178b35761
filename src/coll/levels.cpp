#include "coll/levels.h"

#include <algorithm>
#include <numeric>

#include "coll/coll.h"
#include "mpi.h"

namespace hearth::coll {

Levels::Levels(Schedule& schedule, int root)
    : schedule_(schedule), machines_(*schedule.machines()), root_(root) {
  if (root < 0) return;
  root_machine_ = machines_.machine_of[static_cast<size_t>(root)];
  const auto begin = machines_.ranks.begin() + machines_.begin(root_machine_);
  root_place_ =
      static_cast<int>(std::lower_bound(begin, begin + machines_.size(root_machine_), root) - begin);
}

std::vector<objects::PeerIndex> Levels::peers_of_leaders() const {
  std::vector<objects::PeerIndex> leaders;
  for (int machine = 0; machine < machines_.count(); ++machine) {
    leaders.push_back(machines_.peers_on(machine)[static_cast<size_t>(leader_place(machine))]);
  }
  return leaders;
}

Status PackedBlocks::reserve(Schedule& schedule, const objects::Machines& machines) {
  std::byte* memory;
  const int64_t words = 2 * int64_t{schedule.size()} + 2 * int64_t{machines.count()};
  HEARTH_TRY(schedule.scratch(words * static_cast<int64_t>(sizeof(int64_t)), memory));
  lengths_ = reinterpret_cast<int64_t*>(memory);
  begins_ = lengths_ + schedule.size();
  machine_lengths_ = begins_ + schedule.size();
  machine_begins_ = machine_lengths_ + machines.count();
  return {};
}

void PackedBlocks::sum_up(const objects::Machines& machines, int ranks) {
  std::exclusive_scan(lengths_, lengths_ + ranks, begins_, int64_t{0}, saturated_sum);
  total_ = saturated_sum(begins_[ranks - 1], lengths_[ranks - 1]);
  for (int machine = 0; machine < machines.count(); ++machine) {
    const int last = machines.begin(machine + 1) - 1;
    machine_begins_[machine] = begins_[machines.begin(machine)];
    machine_lengths_[machine] = begins_[last] + lengths_[last] - machine_begins_[machine];
  }
}

namespace {

bool all_equal(const int64_t* lengths, int count) {
  return std::all_of(lengths, lengths + count, [lengths](int64_t length) { return length == lengths[0]; });
}

/// Gathers on `root`, or scatters from it, among the ranks of the current part; their blocks have these
/// lengths and offsets.
Status gather_blocks(Schedule& schedule, std::byte* packed, const int64_t* lengths, const int64_t* begins,
                     int root) {
  const int rank = schedule.rank();
  Type& byte = byte_type();
  const void* own = rank == root ? MPI_IN_PLACE : packed + begins[rank];
  if (all_equal(lengths, schedule.size())) {
    return gather(schedule, own, lengths[rank], byte, packed + begins[0], lengths[rank], byte, root);
  }
  return gatherv(schedule, own, lengths[rank], byte, packed, CountArray(lengths), CountArray(begins), byte,
                 root);
}
Status scatter_blocks(Schedule& schedule, std::byte* packed, const int64_t* lengths, const int64_t* begins,
                      int root) {
  const int rank = schedule.rank();
  Type& byte = byte_type();
  void* own = rank == root ? MPI_IN_PLACE : packed + begins[rank];
  if (all_equal(lengths, schedule.size())) {
    return scatter(schedule, packed + begins[0], lengths[rank], byte, own, lengths[rank], byte, root);
  }
  return scatterv(schedule, packed, CountArray(lengths), CountArray(begins), byte, own, lengths[rank], byte,
                  root);
}

}  // namespace

Status PackedBlocks::gather(Schedule& schedule, const Levels& levels, std::byte* packed) const {
  const int first = levels.machines().begin(levels.own());
  return gather_blocks(schedule, packed, lengths_ + first, begins_ + first, levels.leader());
}

Status PackedBlocks::scatter(Schedule& schedule, const Levels& levels, std::byte* packed) const {
  const int first = levels.machines().begin(levels.own());
  return scatter_blocks(schedule, packed, lengths_ + first, begins_ + first, levels.leader());
}

Status PackedBlocks::allgather_machines(Schedule& schedule, std::byte* packed) const {
  Type& byte = byte_type();
  if (all_equal(machine_lengths_, schedule.size())) {
    return allgather(schedule, MPI_IN_PLACE, 0, byte, packed, machine_lengths_[0], byte);
  }
  return allgatherv(schedule, MPI_IN_PLACE, 0, byte, packed, CountArray(machine_lengths_),
                    CountArray(machine_begins_), byte);
}

Status PackedBlocks::gather_machines(Schedule& schedule, const Levels& levels, std::byte* packed) const {
  return gather_blocks(schedule, packed, machine_lengths_, machine_begins_, levels.root_machine());
}

Status PackedBlocks::scatter_machines(Schedule& schedule, const Levels& levels, std::byte* packed) const {
  return scatter_blocks(schedule, packed, machine_lengths_, machine_begins_, levels.root_machine());
}

void describe_machines(const Schedule& schedule, Shape& shape) {
  const objects::Machines* machines = schedule.machines();
  if (machines == nullptr || !machines->share()) return;
  shape.machines = machines->count();
  shape.in_order = machines->in_order;
  shape.same_each = machines->equal;
}

}  // namespace hearth::coll
