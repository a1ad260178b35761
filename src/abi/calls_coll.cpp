// MPI 5.0 sections 6.3 to 6.11: blocking collective operations. src/coll implements them.
#include "abi/collective_types.h"
#include "coll/coll.h"
#include "datatype/reduce.h"
#include "hearth_calls.h"
#include "mpi.h"

namespace hearth::mpi {

using datatype::Type;
using objects::Comm;
using objects::Op;

Status barrier(Comm& comm) {
  return coll::run<coll::barrier>(comm);
}

Status bcast(void* buffer, Count count, Type& datatype, int root, Comm& comm) {
  return coll::run<coll::bcast>(comm, buffer, count, datatype, root);
}

Status gather(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf, Count recvcount,
              Type& recvtype, int root, Comm& comm) {
  return coll::run<coll::gather>(comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root);
}

Status gatherv(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf, CountArray recvcounts,
               CountArray displs, Type& recvtype, int root, Comm& comm) {
  return coll::run<coll::gatherv>(comm, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,
                                  root);
}

Status scatter(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf, Count recvcount,
               Type& recvtype, int root, Comm& comm) {
  return coll::run<coll::scatter>(comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root);
}

Status scatterv(const void* sendbuf, CountArray sendcounts, CountArray displs, Type& sendtype, void* recvbuf,
                Count recvcount, Type& recvtype, int root, Comm& comm) {
  return coll::run<coll::scatterv>(comm, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype,
                                   root);
}

Status allgather(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf, Count recvcount,
                 Type& recvtype, Comm& comm) {
  return coll::run<coll::allgather>(comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype);
}

Status allgatherv(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf, CountArray recvcounts,
                  CountArray displs, Type& recvtype, Comm& comm) {
  return coll::run<coll::allgatherv>(comm, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                     recvtype);
}

Status alltoall(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf, Count recvcount,
                Type& recvtype, Comm& comm) {
  return coll::run<coll::alltoall>(comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype);
}

Status alltoallv(const void* sendbuf, CountArray sendcounts, CountArray sdispls, Type& sendtype,
                 void* recvbuf, CountArray recvcounts, CountArray rdispls, Type& recvtype, Comm& comm) {
  return coll::run<coll::alltoallv>(comm, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                                    rdispls, recvtype);
}

Status alltoallw(const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                 const MPI_Datatype* sendtypes, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                 const MPI_Datatype* recvtypes, Comm& comm) {
  abi::RankTypes sending;
  abi::RankTypes receiving;
  if (sendbuf != MPI_IN_PLACE) HEARTH_TRY(sending.read(sendtypes, comm.peer_count, "sendtypes"));
  HEARTH_TRY(receiving.read(recvtypes, comm.peer_count, "recvtypes"));
  return coll::run<coll::alltoallw>(comm, sendbuf, sendcounts, sdispls, sending.get(), recvbuf, recvcounts,
                                    rdispls, receiving.get());
}

Status reduce(const void* sendbuf, void* recvbuf, Count count, Type& datatype, Op& op, int root, Comm& comm) {
  return coll::run<coll::reduce>(comm, sendbuf, recvbuf, count, datatype, op, root);
}

Status allreduce(const void* sendbuf, void* recvbuf, Count count, Type& datatype, Op& op, Comm& comm) {
  return coll::run<coll::allreduce>(comm, sendbuf, recvbuf, count, datatype, op);
}

Status reduce_scatter(const void* sendbuf, void* recvbuf, CountArray recvcounts, Type& datatype, Op& op,
                      Comm& comm) {
  return coll::run<coll::reduce_scatter>(comm, sendbuf, recvbuf, recvcounts, datatype, op);
}

Status reduce_scatter_block(const void* sendbuf, void* recvbuf, Count recvcount, Type& datatype, Op& op,
                            Comm& comm) {
  return coll::run<coll::reduce_scatter_block>(comm, sendbuf, recvbuf, recvcount, datatype, op);
}

Status scan(const void* sendbuf, void* recvbuf, Count count, Type& datatype, Op& op, Comm& comm) {
  return coll::run<coll::scan>(comm, sendbuf, recvbuf, count, datatype, op);
}

Status exscan(const void* sendbuf, void* recvbuf, Count count, Type& datatype, Op& op, Comm& comm) {
  return coll::run<coll::exscan>(comm, sendbuf, recvbuf, count, datatype, op);
}

Status reduce_local(const void* inbuf, void* inoutbuf, Count count, Type& datatype, Op& op) {
  return datatype::reduce(op, datatype, inbuf, inoutbuf, count);
}

}  // namespace hearth::mpi
