// Collectives among neighbours in a topology (MPI 5.0 section 8.6): one block to each destination and one
// from each source, numbered like the neighbours. The arrays and the topology are read during the call only.
#pragma once

#include "coll/blocks.h"
#include "coll/schedule.h"
#include "objects/topology.h"

namespace hearth::coll {

/// The same block to each destination.
Status neighbor_allgather(Schedule& schedule, const objects::Topology& topology, const OwnBlock& own,
                          const RankBlocks& in);
Status neighbor_alltoall(Schedule& schedule, const objects::Topology& topology, const RankBlocks& out,
                         const RankBlocks& in);

}  // namespace hearth::coll
