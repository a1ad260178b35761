// Collectives on intercommunicators (MPI 5.0 section 6.2.3): each group receives the data of the other group.
// If a group acts as a whole, its leader (rank 0) exchanges messages with the leader of the other group.
//
// The functions of coll.h call these if the communicator has two groups; arguments as there. `root` is
// MPI_ROOT on the root, MPI_PROC_NULL in the rest of its group, and the root's rank in the other group.
#pragma once

#include "coll/blocks.h"
#include "coll/schedule.h"

namespace hearth::coll::inter {

/// MPI_ERR_BUFFER for MPI_IN_PLACE: no process receives its own data here.
Status check_buffer(const void* send);

Status barrier(Schedule& schedule);
Status bcast(Schedule& schedule, void* buffer, Count count, Type& type, int root);
Status gather(Schedule& schedule, const OwnBlock& own, const RankBlocks& blocks, int root);
Status scatter(Schedule& schedule, const RankBlocks& blocks, const OwnBlock& own, int root);
/// All ranks of one group exchange blocks with all ranks of the other; allgather() sends the same block to
/// each.
Status alltoall(Schedule& schedule, const RankBlocks& out, const RankBlocks& in);
Status allgather(Schedule& schedule, const OwnBlock& own, const RankBlocks& blocks);

Status reduce(Schedule& schedule, const void* send, void* receive, Count count, Type& type, Op& op, int root);
Status allreduce(Schedule& schedule, const void* send, void* receive, Count count, Type& type, Op& op);
/// Afterwards `result` of each leader is the reduction over the other group. It is not significant on other
/// ranks.
Status swap_reductions(Schedule& schedule, const void* send, void* result, Count count, Type& type, Op& op);

}  // namespace hearth::coll::inter
