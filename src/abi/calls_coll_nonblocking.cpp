// MPI 5.0 section 6.12: non-blocking collective operations. src/coll implements them.
#include "abi/collective_types.h"
#include "coll/coll.h"
#include "hearth_calls.h"
#include "mpi.h"

namespace hearth::mpi {

using datatype::Type;
using objects::Comm;
using objects::Op;
using p2p::Request;

Status ibarrier(Comm& comm, Request*& request) {
  return coll::start<coll::barrier>(comm, request);
}

Status ibcast(void* buffer, Count count, Type& datatype, int root, Comm& comm, Request*& request) {
  return coll::start<coll::bcast>(comm, request, buffer, count, datatype, root);
}

Status igather(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf, Count recvcount,
               Type& recvtype, int root, Comm& comm, Request*& request) {
  return coll::start<coll::gather>(comm, request, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                   root);
}

Status igatherv(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf, CountArray recvcounts,
                CountArray displs, Type& recvtype, int root, Comm& comm, Request*& request) {
  return coll::start<coll::gatherv>(comm, request, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                    recvtype, root);
}

Status iscatter(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf, Count recvcount,
                Type& recvtype, int root, Comm& comm, Request*& request) {
  return coll::start<coll::scatter>(comm, request, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                    root);
}

Status iscatterv(const void* sendbuf, CountArray sendcounts, CountArray displs, Type& sendtype, void* recvbuf,
                 Count recvcount, Type& recvtype, int root, Comm& comm, Request*& request) {
  return coll::start<coll::scatterv>(comm, request, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount,
                                     recvtype, root);
}

Status iallgather(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf, Count recvcount,
                  Type& recvtype, Comm& comm, Request*& request) {
  return coll::start<coll::allgather>(comm, request, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                      recvtype);
}

Status iallgatherv(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf, CountArray recvcounts,
                   CountArray displs, Type& recvtype, Comm& comm, Request*& request) {
  return coll::start<coll::allgatherv>(comm, request, sendbuf, sendcount, sendtype, recvbuf, recvcounts,
                                       displs, recvtype);
}

Status ialltoall(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf, Count recvcount,
                 Type& recvtype, Comm& comm, Request*& request) {
  return coll::start<coll::alltoall>(comm, request, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                     recvtype);
}

Status ialltoallv(const void* sendbuf, CountArray sendcounts, CountArray sdispls, Type& sendtype,
                  void* recvbuf, CountArray recvcounts, CountArray rdispls, Type& recvtype, Comm& comm,
                  Request*& request) {
  return coll::start<coll::alltoallv>(comm, request, sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                      recvcounts, rdispls, recvtype);
}

Status ialltoallw(const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                  const MPI_Datatype* sendtypes, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                  const MPI_Datatype* recvtypes, Comm& comm, Request*& request) {
  abi::RankTypes sending;
  abi::RankTypes receiving;
  if (sendbuf != MPI_IN_PLACE) HEARTH_TRY(sending.read(sendtypes, comm.peer_count, "sendtypes"));
  HEARTH_TRY(receiving.read(recvtypes, comm.peer_count, "recvtypes"));
  return coll::start<coll::alltoallw>(comm, request, sendbuf, sendcounts, sdispls, sending.get(), recvbuf,
                                      recvcounts, rdispls, receiving.get());
}

Status ireduce(const void* sendbuf, void* recvbuf, Count count, Type& datatype, Op& op, int root, Comm& comm,
               Request*& request) {
  return coll::start<coll::reduce>(comm, request, sendbuf, recvbuf, count, datatype, op, root);
}

Status iallreduce(const void* sendbuf, void* recvbuf, Count count, Type& datatype, Op& op, Comm& comm,
                  Request*& request) {
  return coll::start<coll::allreduce>(comm, request, sendbuf, recvbuf, count, datatype, op);
}

Status ireduce_scatter(const void* sendbuf, void* recvbuf, CountArray recvcounts, Type& datatype, Op& op,
                       Comm& comm, Request*& request) {
  return coll::start<coll::reduce_scatter>(comm, request, sendbuf, recvbuf, recvcounts, datatype, op);
}

Status ireduce_scatter_block(const void* sendbuf, void* recvbuf, Count recvcount, Type& datatype, Op& op,
                             Comm& comm, Request*& request) {
  return coll::start<coll::reduce_scatter_block>(comm, request, sendbuf, recvbuf, recvcount, datatype, op);
}

Status iscan(const void* sendbuf, void* recvbuf, Count count, Type& datatype, Op& op, Comm& comm,
             Request*& request) {
  return coll::start<coll::scan>(comm, request, sendbuf, recvbuf, count, datatype, op);
}

Status iexscan(const void* sendbuf, void* recvbuf, Count count, Type& datatype, Op& op, Comm& comm,
               Request*& request) {
  return coll::start<coll::exscan>(comm, request, sendbuf, recvbuf, count, datatype, op);
}

}  // namespace hearth::mpi
