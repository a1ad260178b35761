// Collective operations on intracommunicators (MPI 5.0 chapter 6), over point-to-point messages.
//
// Arguments are those of the MPI functions, checked; MPI_IN_PLACE is allowed where the standard allows it.
// Arguments that do not count in this process may be anything. Called under the library's lock; blocking.
#pragma once

#include "base/counts.h"
#include "base/status.h"
#include "datatype/type.h"
#include "objects/comm.h"
#include "objects/op.h"

namespace hearth::coll {

using datatype::Type;
using objects::Comm;
using objects::Op;

Status barrier(Comm& comm);
Status bcast(void* buffer, Count count, Type& type, int root, Comm& comm);

Status gather(const void* send, Count send_count, Type& send_type, void* receive, Count receive_count,
              Type& receive_type, int root, Comm& comm);
Status gatherv(const void* send, Count send_count, Type& send_type, void* receive, CountArray receive_counts,
               CountArray displacements, Type& receive_type, int root, Comm& comm);
Status scatter(const void* send, Count send_count, Type& send_type, void* receive, Count receive_count,
               Type& receive_type, int root, Comm& comm);
Status scatterv(const void* send, CountArray send_counts, CountArray displacements, Type& send_type,
                void* receive, Count receive_count, Type& receive_type, int root, Comm& comm);
Status allgather(const void* send, Count send_count, Type& send_type, void* receive, Count receive_count,
                 Type& receive_type, Comm& comm);
Status allgatherv(const void* send, Count send_count, Type& send_type, void* receive,
                  CountArray receive_counts, CountArray displacements, Type& receive_type, Comm& comm);
Status alltoall(const void* send, Count send_count, Type& send_type, void* receive, Count receive_count,
                Type& receive_type, Comm& comm);
Status alltoallv(const void* send, CountArray send_counts, CountArray send_displacements, Type& send_type,
                 void* receive, CountArray receive_counts, CountArray receive_displacements,
                 Type& receive_type, Comm& comm);
/// Displacements are in bytes; the arrays of types have an entry for each rank.
Status alltoallw(const void* send, CountArray send_counts, CountArray send_displacements,
                 Type* const* send_types, void* receive, CountArray receive_counts,
                 CountArray receive_displacements, Type* const* receive_types, Comm& comm);

// Reductions. The order in which ranks are combined depends on the number of ranks and on the size of the
// data only, so a result is the same from run to run, and MPI_Allreduce has the same on all ranks. Operations
// that do not commute are applied in the order of ranks.
Status reduce(const void* send, void* receive, Count count, Type& type, const Op& op, int root, Comm& comm);
Status allreduce(const void* send, void* receive, Count count, Type& type, const Op& op, Comm& comm);
Status reduce_scatter(const void* send, void* receive, CountArray receive_counts, Type& type, const Op& op,
                      Comm& comm);
Status reduce_scatter_block(const void* send, void* receive, Count receive_count, Type& type, const Op& op,
                            Comm& comm);
Status scan(const void* send, void* receive, Count count, Type& type, const Op& op, Comm& comm);
Status exscan(const void* send, void* receive, Count count, Type& type, const Op& op, Comm& comm);

}  // namespace hearth::coll
