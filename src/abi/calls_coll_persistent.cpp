// MPI 5.0 section 6.13: persistent collective operations. src/coll implements them. Hints are ignored.
#include "abi/collective_types.h"
#include "coll/coll.h"
#include "hearth_calls.h"
#include "mpi.h"

namespace hearth::mpi {

using datatype::Type;
using objects::Comm;
using objects::Info;
using objects::Op;
using p2p::Request;

Status barrier_init(Comm& comm, Info*, Request*& request) {
  return coll::prepare<coll::barrier>(comm, request);
}

Status bcast_init(void* buffer, Count count, Type& datatype, int root, Comm& comm, Info*, Request*& request) {
  return coll::prepare<coll::bcast>(comm, request, buffer, count, datatype, root);
}

Status gather_init(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf, Count recvcount,
                   Type& recvtype, int root, Comm& comm, Info*, Request*& request) {
  return coll::prepare<coll::gather>(comm, request, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                     recvtype, root);
}

Status gatherv_init(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf,
                    CountArray recvcounts, CountArray displs, Type& recvtype, int root, Comm& comm, Info*,
                    Request*& request) {
  return coll::prepare<coll::gatherv>(comm, request, sendbuf, sendcount, sendtype, recvbuf, recvcounts,
                                      displs, recvtype, root);
}

Status scatter_init(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf, Count recvcount,
                    Type& recvtype, int root, Comm& comm, Info*, Request*& request) {
  return coll::prepare<coll::scatter>(comm, request, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                      recvtype, root);
}

Status scatterv_init(const void* sendbuf, CountArray sendcounts, CountArray displs, Type& sendtype,
                     void* recvbuf, Count recvcount, Type& recvtype, int root, Comm& comm, Info*,
                     Request*& request) {
  return coll::prepare<coll::scatterv>(comm, request, sendbuf, sendcounts, displs, sendtype, recvbuf,
                                       recvcount, recvtype, root);
}

Status allgather_init(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf, Count recvcount,
                      Type& recvtype, Comm& comm, Info*, Request*& request) {
  return coll::prepare<coll::allgather>(comm, request, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                        recvtype);
}

Status allgatherv_init(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf,
                       CountArray recvcounts, CountArray displs, Type& recvtype, Comm& comm, Info*,
                       Request*& request) {
  return coll::prepare<coll::allgatherv>(comm, request, sendbuf, sendcount, sendtype, recvbuf, recvcounts,
                                         displs, recvtype);
}

Status alltoall_init(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf, Count recvcount,
                     Type& recvtype, Comm& comm, Info*, Request*& request) {
  return coll::prepare<coll::alltoall>(comm, request, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                       recvtype);
}

Status alltoallv_init(const void* sendbuf, CountArray sendcounts, CountArray sdispls, Type& sendtype,
                      void* recvbuf, CountArray recvcounts, CountArray rdispls, Type& recvtype, Comm& comm,
                      Info*, Request*& request) {
  return coll::prepare<coll::alltoallv>(comm, request, sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                        recvcounts, rdispls, recvtype);
}

Status alltoallw_init(const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                      const MPI_Datatype* sendtypes, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                      const MPI_Datatype* recvtypes, Comm& comm, Info*, Request*& request) {
  abi::RankTypes sending;
  abi::RankTypes receiving;
  if (sendbuf != MPI_IN_PLACE) HEARTH_TRY(sending.read(sendtypes, comm.peer_count, "sendtypes"));
  HEARTH_TRY(receiving.read(recvtypes, comm.peer_count, "recvtypes"));
  return coll::prepare<coll::alltoallw>(comm, request, sendbuf, sendcounts, sdispls, sending.get(), recvbuf,
                                        recvcounts, rdispls, receiving.get());
}

Status reduce_init(const void* sendbuf, void* recvbuf, Count count, Type& datatype, Op& op, int root,
                   Comm& comm, Info*, Request*& request) {
  return coll::prepare<coll::reduce>(comm, request, sendbuf, recvbuf, count, datatype, op, root);
}

Status allreduce_init(const void* sendbuf, void* recvbuf, Count count, Type& datatype, Op& op, Comm& comm,
                      Info*, Request*& request) {
  return coll::prepare<coll::allreduce>(comm, request, sendbuf, recvbuf, count, datatype, op);
}

Status reduce_scatter_init(const void* sendbuf, void* recvbuf, CountArray recvcounts, Type& datatype, Op& op,
                           Comm& comm, Info*, Request*& request) {
  return coll::prepare<coll::reduce_scatter>(comm, request, sendbuf, recvbuf, recvcounts, datatype, op);
}

Status reduce_scatter_block_init(const void* sendbuf, void* recvbuf, Count recvcount, Type& datatype, Op& op,
                                 Comm& comm, Info*, Request*& request) {
  return coll::prepare<coll::reduce_scatter_block>(comm, request, sendbuf, recvbuf, recvcount, datatype, op);
}

Status scan_init(const void* sendbuf, void* recvbuf, Count count, Type& datatype, Op& op, Comm& comm, Info*,
                 Request*& request) {
  return coll::prepare<coll::scan>(comm, request, sendbuf, recvbuf, count, datatype, op);
}

Status exscan_init(const void* sendbuf, void* recvbuf, Count count, Type& datatype, Op& op, Comm& comm, Info*,
                   Request*& request) {
  return coll::prepare<coll::exscan>(comm, request, sendbuf, recvbuf, count, datatype, op);
}

}  // namespace hearth::mpi
