// Collectives on intercommunicators (MPI 5.0 section 6.2.3): what one group gives, the other one gets. Where
// a group acts as one, its rank 0 is the leader, who speaks with the other leader.
//
// The functions of coll.h come here when the communicator has two groups; arguments as there. `root` is
// MPI_ROOT at the root, MPI_PROC_NULL in the rest of its group, the root's rank in the other group.
#pragma once

#include "coll/blocks.h"
#include "coll/schedule.h"

namespace hearth::coll::inter {

/// MPI_ERR_BUFFER for MPI_IN_PLACE: here nothing that a process gives ends in its own buffer.
Status check_buffer(const void* send);

Status barrier(Schedule& schedule);
Status bcast(Schedule& schedule, void* buffer, Count count, Type& type, int root);
Status gather(Schedule& schedule, const OwnBlock& own, const RankBlocks& blocks, int root);
Status scatter(Schedule& schedule, const RankBlocks& blocks, const OwnBlock& own, int root);
/// To everybody in the other group, and from everybody: MPI_Allgather sends each the same block.
Status alltoall(Schedule& schedule, const RankBlocks& out, const RankBlocks& in);
Status allgather(Schedule& schedule, const OwnBlock& own, const RankBlocks& blocks);

Status reduce(Schedule& schedule, const void* send, void* receive, Count count, Type& type, Op& op, int root);
Status allreduce(Schedule& schedule, const void* send, void* receive, Count count, Type& type, Op& op);
/// Each leader has the reduction over the other group in `result` afterwards, which does not count elsewhere.
Status swap_reductions(Schedule& schedule, const void* send, void* result, Count count, Type& type, Op& op);

}  // namespace hearth::coll::inter
