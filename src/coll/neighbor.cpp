#include "coll/neighbor.h"

#include "mpi.h"

namespace hearth::coll {
namespace {

using objects::Topology;

// Messages between two processes match in order, so several edges of a graph from one process to another are
// distinguished by their order. In a grid, a block that is sent down arrives from above. This matters if both
// neighbours are the same process, in periodic dimensions of one or two: the receives from above come before
// those from below.
template <class SendTo>
Status exchange(Schedule& schedule, const Topology& topology, const RankBlocks& in, SendTo send_to) {
  // If all processes have many neighbours, no process may wait for a message before it has started all of its
  // own.
  schedule.lift_limit();
  const bool grid = topology.cartesian() != nullptr;
  const int sources = static_cast<int>(topology.sources.size());
  for (int turn = 0; turn < sources; ++turn) {
    const int block = grid ? turn ^ 1 : turn;
    const int from = topology.sources[static_cast<size_t>(block)];
    if (from != MPI_PROC_NULL) schedule.receive(in.place(block), in.count(block), in.type(block), from);
  }
  const int destinations = static_cast<int>(topology.destinations.size());
  for (int block = 0; block < destinations; ++block) {
    const int to = topology.destinations[static_cast<size_t>(block)];
    if (to != MPI_PROC_NULL) send_to(block, to);
  }
  return {};
}

}  // namespace

Status neighbor_allgather(Schedule& schedule, const Topology& topology, const OwnBlock& own,
                          const RankBlocks& in) {
  return exchange(schedule, topology, in,
                  [&](int, int to) { schedule.send(own.buffer, own.count, own.type, to); });
}

Status neighbor_alltoall(Schedule& schedule, const Topology& topology, const RankBlocks& out,
                         const RankBlocks& in) {
  return exchange(schedule, topology, in, [&](int block, int to) {
    schedule.send(out.place(block), out.count(block), out.type(block), to);
  });
}

}  // namespace hearth::coll
