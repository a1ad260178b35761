// Invalid arguments, which the library rejects with or without --check.
#include "cases.h"

static int a[4];

CASE(negative_count) {
  UNUSED, MPI_Send(a, -1, MPI_INT, 0, 0, W);
}
CASE(rank_beyond) {
  UNUSED, MPI_Send(a, 1, MPI_INT, size, 0, W);
}
CASE(negative_tag) {
  UNUSED, MPI_Send(a, 1, MPI_INT, 0, -5, W);
}
CASE(null_communicator) {
  UNUSED, MPI_Send(a, 1, MPI_INT, 0, 0, MPI_COMM_NULL);
}
CASE(null_type) {
  UNUSED, MPI_Send(a, 1, MPI_DATATYPE_NULL, 0, 0, W);
}
CASE(root_beyond) {
  UNUSED, MPI_Bcast(a, 1, MPI_INT, size, W);
}
CASE(null_operation) {
  UNUSED, MPI_Allreduce(MPI_IN_PLACE, a, 1, MPI_INT, MPI_OP_NULL, W);
}
CASE(operation_of_other_types) {
  UNUSED, MPI_Allreduce(MPI_IN_PLACE, a, 1, MPI_FLOAT, MPI_BAND, W);
}
CASE(type_not_committed) {
  UNUSED;
  MPI_Datatype type;
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Bcast(a, 1, type, 0, W);
}
CASE(type_freed) {
  UNUSED;
  MPI_Datatype type, copy;
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_commit(&type);
  copy = type;
  MPI_Type_free(&type);
  MPI_Bcast(a, 1, copy, 0, W);
}
CASE(communicator_freed) {
  UNUSED;
  MPI_Comm other, copy;
  MPI_Comm_dup(W, &other);
  copy = other;
  MPI_Comm_free(&other);
  MPI_Barrier(copy);
}
CASE(null_buffer) {
  UNUSED, MPI_Bcast(NULL, 1, MPI_INT, 0, W);
}
CASE(truncated) {
  UNUSED;
  if (rank == 0) MPI_Send(a, 4, MPI_INT, 1, 0, W);
  if (rank == 1) MPI_Recv(a, 2, MPI_INT, 0, 0, W, IGNORE);
}
CASE(start_twice) {
  UNUSED;
  MPI_Request request;
  MPI_Recv_init(a, 1, MPI_INT, rank, 0, W, &request);
  MPI_Start(&request);
  MPI_Start(&request);
}
CASE(after_finalize) {
  UNUSED;
  MPI_Finalize();
  MPI_Barrier(W);
}
CASE(request_completed_twice) {
  UNUSED;
  MPI_Request request, copy;
  MPI_Irecv(a, 1, MPI_INT, rank, 0, W, &request);
  copy = request;
  MPI_Send(a + 2, 1, MPI_INT, rank, 0, W);
  MPI_Wait(&request, IGNORE);
  MPI_Wait(&copy, IGNORE);
}

PROGRAM(ROW(negative_count), ROW(rank_beyond), ROW(negative_tag), ROW(null_communicator), ROW(null_type),
        ROW(root_beyond), ROW(null_operation), ROW(operation_of_other_types), ROW(type_not_committed),
        ROW(type_freed), ROW(communicator_freed), ROW(null_buffer), ROW(truncated), ROW(start_twice),
        ROW(after_finalize), ROW(request_completed_twice))
