// MPI 5.0 section 4.2: partitioned messages. MPI_Start and the completing calls are in calls_request.cpp.
#include "abi/error.h"
#include "abi/requests.h"
#include "hearth_calls.h"
#include "mpi.h"
#include "p2p/partitioned.h"

namespace hearth::mpi {
namespace {

using datatype::Type;
using objects::Comm;
using p2p::Request;

Status check_partitions(int partitions, Count count, const Type& type) {
  if (partitions < 0) return fail(MPI_ERR_ARG, "partitions is %d: it must not be negative", partitions);
  int64_t bytes;
  if (!__builtin_mul_overflow(count * type.size, partitions, &bytes)) return {};
  return fail(MPI_ERR_COUNT, "%d partitions of %lld elements have more bytes than 64 bits can hold",
              partitions, static_cast<long long>(count));
}

p2p::MatchKey key_of(const Comm& comm, int rank, int tag) {
  return {comm.context, rank >= 0 ? comm.peers[rank] : rank, tag};
}

// Reports the error on the request's communicator.
Status blame_owner(const Request& request, Status status) {
  return status.ok() || request.comm == nullptr ? status : abi::blame(*request.comm, status);
}

Status make_ready(Request* request, int first, int last) {
  if (request == nullptr) {
    return fail(MPI_ERR_REQUEST, "the request is MPI_REQUEST_NULL: there is nothing to send");
  }
  return blame_owner(*request, p2p::send_partitions(*request, first, last));
}

}  // namespace

Status psend_init(const void* buf, int partitions, Count count, Type& datatype, int dest, int tag, Comm& comm,
                  objects::Info*, Request*& request) {
  HEARTH_TRY(check_partitions(partitions, count, datatype));
  HEARTH_TRY(p2p::make_partitioned_send(p2p::engine(), {const_cast<void*>(buf), partitions, count, &datatype},
                                        key_of(comm, dest, tag), request));
  abi::belong_to(request, comm);
  return {};
}

Status precv_init(void* buf, int partitions, Count count, Type& datatype, int dest, int tag, Comm& comm,
                  objects::Info*, Request*& request) {
  HEARTH_TRY(check_partitions(partitions, count, datatype));
  HEARTH_TRY(p2p::make_partitioned_receive(p2p::engine(), {buf, partitions, count, &datatype},
                                           key_of(comm, dest, tag), request));
  abi::belong_to(request, comm);
  return {};
}

Status pready(int partition, Request* request) {
  return make_ready(request, partition, partition);
}

Status pready_range(int partition_low, int partition_high, Request* request) {
  if (partition_low > partition_high) {
    return fail(MPI_ERR_ARG, "partition_low is %d, above partition_high, which is %d", partition_low,
                partition_high);
  }
  return make_ready(request, partition_low, partition_high);
}

Status pready_list(int length, const int* array_of_partitions, Request* request) {
  for (int i = 0; i < length; ++i) {
    HEARTH_TRY(make_ready(request, array_of_partitions[i], array_of_partitions[i]));
  }
  return {};
}

Status parrived(Request* request, int partition, int& flag) {
  bool arrived = true;
  if (request != nullptr) {
    HEARTH_TRY(blame_owner(*request, p2p::find_arrived(*request, partition, arrived)));
    if (!arrived) {
      p2p::engine().progress_once();
      HEARTH_TRY(p2p::find_arrived(*request, partition, arrived));
    }
  }
  flag = arrived;
  return {};
}

}  // namespace hearth::mpi
