// MPI 5.0 section 8.6 to 8.8: neighborhood collectives, blocking, non-blocking and persistent. src/coll
// implements them.
#include "abi/collective_types.h"
#include "coll/neighbor.h"
#include "hearth_calls.h"
#include "mpi.h"

namespace hearth::mpi {
namespace {

using abi::RankTypes;
using coll::OwnBlock;
using coll::RankBlocks;
using datatype::Type;
using objects::Comm;
using objects::Info;
using objects::Topology;
using p2p::Request;

struct Blocking {
  Comm& comm;

  template <auto build, class... Arguments>
  Status go(const Arguments&... arguments) const {
    return coll::run<build>(comm, arguments...);
  }
};

struct Nonblocking {
  Comm& comm;
  Request*& request;

  template <auto build, class... Arguments>
  Status go(const Arguments&... arguments) const {
    return coll::start<build>(comm, request, arguments...);
  }
};

struct Persistent {
  Comm& comm;
  Request*& request;

  template <auto build, class... Arguments>
  Status go(const Arguments&... arguments) const {
    return coll::prepare<build>(comm, request, arguments...);
  }
};

Status topology_of(const Comm& comm, const Topology*& topology) {
  topology = comm.topology.get();
  if (topology != nullptr) return {};
  return fail(MPI_ERR_TOPOLOGY,
              "the communicator has no topology, so no process is a neighbour. Remedy: MPI_Cart_create, "
              "MPI_Dist_graph_create or MPI_Graph_create makes one that has");
}

template <class Form>
Status allgather(Form form, const void* sendbuf, Count sendcount, Type& sendtype, const RankBlocks& in) {
  const Topology* topology = nullptr;
  HEARTH_TRY(topology_of(form.comm, topology));
  return form.template go<coll::neighbor_allgather>(
      *topology, OwnBlock{const_cast<void*>(sendbuf), sendcount, sendtype}, in);
}

template <class Form>
Status alltoall(Form form, const RankBlocks& out, const RankBlocks& in) {
  const Topology* topology = nullptr;
  HEARTH_TRY(topology_of(form.comm, topology));
  return form.template go<coll::neighbor_alltoall>(*topology, out, in);
}

template <class Form>
Status alltoallw(Form form, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                 const MPI_Datatype* sendtypes, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                 const MPI_Datatype* recvtypes) {
  RankTypes sending;
  RankTypes receiving;
  HEARTH_TRY(sending.read(sendtypes, form.comm.out_degree(), "sendtypes"));
  HEARTH_TRY(receiving.read(recvtypes, form.comm.in_degree(), "recvtypes"));
  return alltoall(form, RankBlocks(sendbuf, sendcounts, sdispls, sending.get()),
                  RankBlocks(recvbuf, recvcounts, rdispls, receiving.get()));
}

}  // namespace

Status neighbor_allgather(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf,
                          Count recvcount, Type& recvtype, Comm& comm) {
  return allgather(Blocking{comm}, sendbuf, sendcount, sendtype, RankBlocks(recvbuf, recvcount, recvtype));
}

Status ineighbor_allgather(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf,
                           Count recvcount, Type& recvtype, Comm& comm, Request*& request) {
  return allgather(Nonblocking{comm, request}, sendbuf, sendcount, sendtype,
                   RankBlocks(recvbuf, recvcount, recvtype));
}

Status neighbor_allgather_init(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf,
                               Count recvcount, Type& recvtype, Comm& comm, Info*, Request*& request) {
  return allgather(Persistent{comm, request}, sendbuf, sendcount, sendtype,
                   RankBlocks(recvbuf, recvcount, recvtype));
}

Status neighbor_allgatherv(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf,
                           CountArray recvcounts, CountArray displs, Type& recvtype, Comm& comm) {
  return allgather(Blocking{comm}, sendbuf, sendcount, sendtype,
                   RankBlocks(recvbuf, recvcounts, displs, recvtype));
}

Status ineighbor_allgatherv(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf,
                            CountArray recvcounts, CountArray displs, Type& recvtype, Comm& comm,
                            Request*& request) {
  return allgather(Nonblocking{comm, request}, sendbuf, sendcount, sendtype,
                   RankBlocks(recvbuf, recvcounts, displs, recvtype));
}

Status neighbor_allgatherv_init(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf,
                                CountArray recvcounts, CountArray displs, Type& recvtype, Comm& comm, Info*,
                                Request*& request) {
  return allgather(Persistent{comm, request}, sendbuf, sendcount, sendtype,
                   RankBlocks(recvbuf, recvcounts, displs, recvtype));
}

Status neighbor_alltoall(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf, Count recvcount,
                         Type& recvtype, Comm& comm) {
  return alltoall(Blocking{comm}, RankBlocks(sendbuf, sendcount, sendtype),
                  RankBlocks(recvbuf, recvcount, recvtype));
}

Status ineighbor_alltoall(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf,
                          Count recvcount, Type& recvtype, Comm& comm, Request*& request) {
  return alltoall(Nonblocking{comm, request}, RankBlocks(sendbuf, sendcount, sendtype),
                  RankBlocks(recvbuf, recvcount, recvtype));
}

Status neighbor_alltoall_init(const void* sendbuf, Count sendcount, Type& sendtype, void* recvbuf,
                              Count recvcount, Type& recvtype, Comm& comm, Info*, Request*& request) {
  return alltoall(Persistent{comm, request}, RankBlocks(sendbuf, sendcount, sendtype),
                  RankBlocks(recvbuf, recvcount, recvtype));
}

Status neighbor_alltoallv(const void* sendbuf, CountArray sendcounts, CountArray sdispls, Type& sendtype,
                          void* recvbuf, CountArray recvcounts, CountArray rdispls, Type& recvtype,
                          Comm& comm) {
  return alltoall(Blocking{comm}, RankBlocks(sendbuf, sendcounts, sdispls, sendtype),
                  RankBlocks(recvbuf, recvcounts, rdispls, recvtype));
}

Status ineighbor_alltoallv(const void* sendbuf, CountArray sendcounts, CountArray sdispls, Type& sendtype,
                           void* recvbuf, CountArray recvcounts, CountArray rdispls, Type& recvtype,
                           Comm& comm, Request*& request) {
  return alltoall(Nonblocking{comm, request}, RankBlocks(sendbuf, sendcounts, sdispls, sendtype),
                  RankBlocks(recvbuf, recvcounts, rdispls, recvtype));
}

Status neighbor_alltoallv_init(const void* sendbuf, CountArray sendcounts, CountArray sdispls, Type& sendtype,
                               void* recvbuf, CountArray recvcounts, CountArray rdispls, Type& recvtype,
                               Comm& comm, Info*, Request*& request) {
  return alltoall(Persistent{comm, request}, RankBlocks(sendbuf, sendcounts, sdispls, sendtype),
                  RankBlocks(recvbuf, recvcounts, rdispls, recvtype));
}

Status neighbor_alltoallw(const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                          const MPI_Datatype* sendtypes, void* recvbuf, CountArray recvcounts,
                          CountArray rdispls, const MPI_Datatype* recvtypes, Comm& comm) {
  return alltoallw(Blocking{comm}, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
                   recvtypes);
}

Status ineighbor_alltoallw(const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                           const MPI_Datatype* sendtypes, void* recvbuf, CountArray recvcounts,
                           CountArray rdispls, const MPI_Datatype* recvtypes, Comm& comm, Request*& request) {
  return alltoallw(Nonblocking{comm, request}, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
                   rdispls, recvtypes);
}

Status neighbor_alltoallw_init(const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                               const MPI_Datatype* sendtypes, void* recvbuf, CountArray recvcounts,
                               CountArray rdispls, const MPI_Datatype* recvtypes, Comm& comm, Info*,
                               Request*& request) {
  return alltoallw(Persistent{comm, request}, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
                   rdispls, recvtypes);
}

}  // namespace hearth::mpi
