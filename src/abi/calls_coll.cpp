// MPI 5.0 chapter 6: blocking collective operations. What they do is in src/coll.
#include "abi/handle.h"
#include "coll/coll.h"
#include "coll/scratch.h"
#include "datatype/predefined.h"
#include "datatype/reduce.h"
#include "hearth_calls.h"
#include "mpi.h"

namespace hearth::mpi {

using datatype::Type;
using objects::Comm;
using objects::Op;

Status barrier(Comm& comm) {
  return coll::barrier(comm);
}

Status bcast(void* buffer, Count count, Type& datatype, int root, Comm& comm) {
  return coll::bcast(buffer, count, datatype, root, comm);
}

Status gather(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf, Count recvcount,
              Type& recvtype, int root, Comm& comm) {
  return coll::gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
}

Status gatherv(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf, CountArray recvcounts,
               CountArray displs, Type& recvtype, int root, Comm& comm) {
  return coll::gatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm);
}

Status scatter(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf, Count recvcount,
               Type& recvtype, int root, Comm& comm) {
  return coll::scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
}

Status scatterv(const void* sendbuf, CountArray sendcounts, CountArray displs, Type& sendtype, void* recvbuf,
                Count recvcount, Type& recvtype, int root, Comm& comm) {
  return coll::scatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm);
}

Status allgather(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf, Count recvcount,
                 Type& recvtype, Comm& comm) {
  return coll::allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

Status allgatherv(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf, CountArray recvcounts,
                  CountArray displs, Type& recvtype, Comm& comm) {
  return coll::allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm);
}

Status alltoall(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf, Count recvcount,
                Type& recvtype, Comm& comm) {
  return coll::alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

Status alltoallv(const void* sendbuf, CountArray sendcounts, CountArray sdispls, Type& sendtype,
                 void* recvbuf, CountArray recvcounts, CountArray rdispls, Type& recvtype, Comm& comm) {
  return coll::alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype,
                         comm);
}

namespace {

/// The types behind an array of handles, one for each rank.
class Types {
 public:
  Status read(const MPI_Datatype* handles, int ranks, const char* name) {
    HEARTH_TRY(memory_.reserve(ranks * static_cast<int64_t>(sizeof(Type*))));
    for (int rank = 0; rank < ranks; ++rank) {
      Type* type = abi::find<Type>(handles[rank]);
      if (type == nullptr || !type->committed) {
        return fail(MPI_ERR_TYPE, "%s[%d] %s", name, rank,
                    type == nullptr ? "is no datatype. Likely cause: it was freed, or never set"
                                    : "is not committed. Remedy: MPI_Type_commit");
      }
      get()[rank] = type;
    }
    return {};
  }
  Type** get() { return reinterpret_cast<Type**>(memory_.data()); }

 private:
  coll::Scratch memory_;
};

}  // namespace

Status alltoallw(const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                 const MPI_Datatype* sendtypes, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                 const MPI_Datatype* recvtypes, Comm& comm) {
  Types sending;
  Types receiving;
  if (sendbuf != MPI_IN_PLACE) HEARTH_TRY(sending.read(sendtypes, comm.size, "sendtypes"));
  HEARTH_TRY(receiving.read(recvtypes, comm.size, "recvtypes"));
  return coll::alltoallw(sendbuf, sendcounts, sdispls, sending.get(), recvbuf, recvcounts, rdispls,
                         receiving.get(), comm);
}

Status reduce(const void* sendbuf, void* recvbuf, Count count, Type& datatype, Op& op, int root, Comm& comm) {
  return coll::reduce(sendbuf, recvbuf, count, datatype, op, root, comm);
}

Status allreduce(const void* sendbuf, void* recvbuf, Count count, Type& datatype, Op& op, Comm& comm) {
  return coll::allreduce(sendbuf, recvbuf, count, datatype, op, comm);
}

Status reduce_scatter(const void* sendbuf, void* recvbuf, CountArray recvcounts, Type& datatype, Op& op,
                      Comm& comm) {
  return coll::reduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op, comm);
}

Status reduce_scatter_block(const void* sendbuf, void* recvbuf, Count recvcount, Type& datatype, Op& op,
                            Comm& comm) {
  return coll::reduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, comm);
}

Status scan(const void* sendbuf, void* recvbuf, Count count, Type& datatype, Op& op, Comm& comm) {
  return coll::scan(sendbuf, recvbuf, count, datatype, op, comm);
}

Status exscan(const void* sendbuf, void* recvbuf, Count count, Type& datatype, Op& op, Comm& comm) {
  return coll::exscan(sendbuf, recvbuf, count, datatype, op, comm);
}

Status reduce_local(const void* inbuf, void* inoutbuf, Count count, Type& datatype, Op& op) {
  return datatype::reduce(op, datatype, inbuf, inoutbuf, count);
}

}  // namespace hearth::mpi
