// Collectives that differ between ranks.
#include "cases.h"

static int a[64], b[64];
static double d[64];

// Order.
CASE(barrier_allreduce) {
  UNUSED;
  if (rank == 0) MPI_Barrier(W);
  if (rank != 0) MPI_Allreduce(a, b, 1, MPI_INT, MPI_SUM, W);
}
CASE(bcast_reduce_swapped) {
  UNUSED;
  if (rank == 0) {
    MPI_Bcast(a, 1, MPI_INT, 0, W);
    MPI_Reduce(a, b, 1, MPI_INT, MPI_SUM, 1, W);
  } else {
    MPI_Reduce(a, b, 1, MPI_INT, MPI_SUM, 1, W);
    MPI_Bcast(a, 1, MPI_INT, 0, W);
  }
}
CASE(ibarrier_barrier) {
  UNUSED;
  MPI_Request request;
  if (rank == 0) {
    MPI_Ibarrier(W, &request);
    MPI_Wait(&request, IGNORE);
  } else {
    MPI_Barrier(W);
  }
}
CASE(gather_allgather) {
  UNUSED;
  if (rank == 0) MPI_Gather(a, 1, MPI_INT, b, 1, MPI_INT, 0, W);
  if (rank != 0) MPI_Allgather(a, 1, MPI_INT, b, 1, MPI_INT, W);
}
CASE(dup_barrier) {
  UNUSED;
  MPI_Comm other;
  if (rank == 0) {
    MPI_Barrier(W);
    MPI_Comm_dup(W, &other);
  } else {
    MPI_Comm_dup(W, &other);
    MPI_Barrier(W);
  }
  MPI_Comm_free(&other);
}
CASE(ibcast_ireduce_swapped) {
  UNUSED;
  MPI_Request requests[2];
  for (int i = 0; i < 2; ++i) {
    if ((i == 0) == (rank == 0))
      MPI_Ibcast(a, 1, MPI_INT, 0, W, &requests[i]);
    else
      MPI_Ireduce(a + 8, b, 1, MPI_INT, MPI_SUM, 0, W, &requests[i]);
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}
CASE(bcast_only_root) {
  UNUSED;
  if (rank == 0) MPI_Bcast(a, 1, MPI_INT, 0, W);
}
CASE(one_bcast_more) {
  UNUSED;
  MPI_Barrier(W);
  for (int i = 0; i < (rank == 0 ? 3 : 2); ++i) MPI_Bcast(a, 1, MPI_INT, 0, W);
}

// Roots and operations.
CASE(bcast_root) {
  UNUSED;
  MPI_Bcast(a, 1, MPI_INT, rank, W);
}
CASE(reduce_root) {
  UNUSED;
  MPI_Reduce(a, b, 1, MPI_INT, MPI_SUM, rank == 0 ? 0 : 1, W);
}
CASE(gather_root) {
  UNUSED;
  MPI_Gather(a, 1, MPI_INT, b, 1, MPI_INT, rank == 0 ? 1 : 0, W);
}
CASE(scatter_root) {
  UNUSED;
  MPI_Scatter(a, 1, MPI_INT, b, 1, MPI_INT, rank, W);
}
CASE(ibcast_root) {
  UNUSED;
  MPI_Request request;
  MPI_Ibcast(a, 1, MPI_INT, rank, W, &request);
  MPI_Wait(&request, IGNORE);
}
CASE(persistent_bcast_root) {
  UNUSED;
  MPI_Request request;
  MPI_Bcast_init(a, 1, MPI_INT, rank, W, MPI_INFO_NULL, &request);
  MPI_Request_free(&request);
}
CASE(reduce_operation) {
  UNUSED;
  MPI_Reduce(a, b, 1, MPI_INT, rank == 0 ? MPI_SUM : MPI_PROD, 0, W);
}
CASE(allreduce_operation) {
  UNUSED;
  MPI_Allreduce(a, b, 1, MPI_INT, rank == 0 ? MPI_SUM : MPI_MAX, W);
}
CASE(scan_operation) {
  UNUSED;
  MPI_Scan(a, b, 1, MPI_INT, rank == 0 ? MPI_SUM : MPI_MAX, W);
}

// Amounts and types.
CASE(bcast_count) {
  UNUSED;
  MPI_Bcast(a, rank == 0 ? 2 : 4, MPI_INT, 0, W);
}
CASE(bcast_type) {
  UNUSED;
  MPI_Bcast(a, 4, rank == 0 ? MPI_INT : MPI_FLOAT, 0, W);
}
CASE(bcast_bytes) {
  UNUSED;
  if (rank == 0) MPI_Bcast(a, 4, MPI_INT, 0, W);
  if (rank != 0) MPI_Bcast(a, 16, MPI_BYTE, 0, W);
}
CASE(allreduce_count) {
  UNUSED;
  MPI_Allreduce(a, b, rank == 0 ? 1 : 2, MPI_INT, MPI_SUM, W);
}
CASE(allreduce_type) {
  UNUSED;
  MPI_Allreduce(a, b, 1, rank == 0 ? MPI_INT : MPI_UNSIGNED, MPI_SUM, W);
}
CASE(reduce_count) {
  UNUSED;
  MPI_Reduce(a, b, rank == 0 ? 1 : 3, MPI_INT, MPI_SUM, 0, W);
}
CASE(gather_count) {
  UNUSED;
  MPI_Gather(a, rank == 0 ? 2 : 1, MPI_INT, b, 2, MPI_INT, 0, W);
}
CASE(gather_type) {
  UNUSED;
  MPI_Gather(a, 2, rank == 0 ? MPI_INT : MPI_FLOAT, b, 2, MPI_INT, 0, W);
}
CASE(gatherv_count) {
  int counts[16], places[16];
  for (int i = 0; i < size; ++i) counts[i] = 2, places[i] = 2 * i;
  MPI_Gatherv(a, rank == 1 ? 1 : 2, MPI_INT, b, counts, places, MPI_INT, 0, W);
}
CASE(scatter_count) {
  UNUSED;
  MPI_Scatter(a, 2, MPI_INT, b, rank == 1 ? 3 : 2, MPI_INT, 0, W);
}
CASE(scatterv_type) {
  int counts[16], places[16];
  for (int i = 0; i < size; ++i) counts[i] = 2, places[i] = 2 * i;
  MPI_Scatterv(a, counts, places, MPI_INT, b, 2, rank == 1 ? MPI_FLOAT : MPI_INT, 0, W);
}
CASE(allgather_count) {
  UNUSED;
  const int count = rank == 0 ? 1 : 2;
  MPI_Allgather(a, count, MPI_INT, b, count, MPI_INT, W);
}
CASE(allgatherv_counts) {
  int counts[16], places[16];
  for (int i = 0; i < size; ++i) counts[i] = i == 1 && rank != 1 ? 3 : 2, places[i] = 3 * i;
  MPI_Allgatherv(a, 2, MPI_INT, b, counts, places, MPI_INT, W);
}
CASE(alltoall_type) {
  UNUSED;
  MPI_Alltoall(a, 1, MPI_INT, b, 1, rank == 0 ? MPI_FLOAT : MPI_INT, W);
}
CASE(alltoallv_counts) {
  int sent[16], wanted[16], places[16];
  for (int i = 0; i < size; ++i) sent[i] = wanted[i] = 1, places[i] = 2 * i;
  if (rank == 0) sent[1] = 2;
  MPI_Alltoallv(a, sent, places, MPI_INT, b, wanted, places, MPI_INT, W);
}
CASE(alltoallw_types) {
  int counts[16], places[16];
  MPI_Datatype sent[16], wanted[16];
  for (int i = 0; i < size; ++i) counts[i] = 1, places[i] = 8 * i, sent[i] = wanted[i] = MPI_INT;
  if (rank == 1) wanted[0] = MPI_FLOAT;
  MPI_Alltoallw(a, counts, places, sent, b, counts, places, wanted, W);
}
CASE(reduce_scatter_counts) {
  int counts[16];
  for (int i = 0; i < size; ++i) counts[i] = 1;
  if (rank == 0) counts[0] = 2, counts[1] = 0;
  MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, W);
}
CASE(iallreduce_count) {
  UNUSED;
  MPI_Request request;
  MPI_Iallreduce(a, b, rank == 0 ? 1 : 2, MPI_INT, MPI_SUM, W, &request);
  MPI_Wait(&request, IGNORE);
}
CASE(part_bcast_root) {
  MPI_Comm part;
  MPI_Comm_split(W, rank / 2, rank, &part);
  MPI_Bcast(a, 1, MPI_INT, rank % 2, part);
  MPI_Comm_free(&part);
  UNUSED;
}

// A reduction of characters, which the standard does not define; then correct programs.
CASE(sum_of_characters) {
  UNUSED;
  char one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_CHAR, MPI_SUM, W);
  if (sum != 2) MPI_Abort(W, 3);
}
CASE(ok_sum_of_signed_characters) {
  UNUSED;
  signed char one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_SIGNED_CHAR, MPI_SUM, W);
}
CASE(ok_different_maps) {
  UNUSED;
  MPI_Datatype column;
  MPI_Type_vector(4, 1, 2, MPI_INT, &column);
  MPI_Type_commit(&column);
  if (rank == 0) MPI_Bcast(a, 4, MPI_INT, 0, W);
  if (rank != 0) MPI_Bcast(a, 1, column, 0, W);
  MPI_Gather(a, 1, column, b, 4, MPI_INT, 0, W);
  MPI_Allgather(a, 1, column, b, 4, MPI_INT, W);
  MPI_Type_free(&column);
}
CASE(ok_in_place) {
  MPI_Allreduce(MPI_IN_PLACE, a, 2, MPI_INT, MPI_SUM, W);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a, 2, MPI_INT, W);
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a, 2, MPI_INT, W);
  if (rank == 0) MPI_Reduce(MPI_IN_PLACE, a, 2, MPI_INT, MPI_SUM, 0, W);
  if (rank != 0) MPI_Reduce(a, NULL, 2, MPI_INT, MPI_SUM, 0, W);
  if (rank == 0) MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a, 2, MPI_INT, 0, W);
  if (rank != 0) MPI_Gather(a, 2, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, 0, W);
  if (rank == 0) MPI_Scatter(a, 2, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, W);
  if (rank != 0) MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, a, 2, MPI_INT, 0, W);
  int counts[16], places[16];
  for (int i = 0; i < size; ++i) counts[i] = 1 + i % 2, places[i] = 2 * i;
  MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a, counts, places, MPI_INT, W);
  for (int i = 0; i < size; ++i) counts[i] = 1;
  MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, a, counts, places, MPI_INT, W);
  MPI_Reduce_scatter(MPI_IN_PLACE, a, counts, MPI_INT, MPI_SUM, W);
  MPI_Reduce_scatter_block(MPI_IN_PLACE, a, 1, MPI_INT, MPI_SUM, W);
}
CASE(ok_arrays_of_counts) {
  int sent[16], wanted[16], places[16];
  for (int i = 0; i < size; ++i) sent[i] = i, wanted[i] = rank, places[i] = 4 * i;
  MPI_Alltoallv(a, sent, places, MPI_INT, b, wanted, places, MPI_INT, W);
  MPI_Gatherv(a, rank, MPI_INT, b, sent, places, MPI_INT, 0, W);
  MPI_Scatterv(a, sent, places, MPI_INT, b, rank, MPI_INT, 0, W);
  MPI_Allgatherv(a, rank, MPI_INT, b, sent, places, MPI_INT, W);
  MPI_Reduce_scatter(a, b, sent, MPI_INT, MPI_SUM, W);
}
CASE(ok_nothing) {
  UNUSED;
  MPI_Bcast(NULL, 0, rank == 0 ? MPI_INT : MPI_DOUBLE, 0, W);
  MPI_Gather(a, 0, MPI_INT, b, 0, MPI_FLOAT, 0, W);
}
static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}
CASE(ok_own_operation) {
  UNUSED;
  MPI_Op op;
  MPI_Op_create(add, 1, &op);
  MPI_Allreduce(a, b, 2, MPI_INT, op, W);
  MPI_Op_free(&op);
}
CASE(ok_overlapping_starts) {
  UNUSED;
  MPI_Request requests[3];
  MPI_Ibcast(a, 1, MPI_INT, 0, W, &requests[0]);
  MPI_Iallreduce(a + 8, b, 1, MPI_INT, MPI_SUM, W, &requests[1]);
  MPI_Ibarrier(W, &requests[2]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
}
CASE(ok_parts) {
  MPI_Comm part, both, again;
  MPI_Comm_split(W, rank % 2, rank, &part);
  if (rank % 2 == 0) MPI_Bcast(a, 1, MPI_INT, 0, part);
  if (rank % 2 == 1) MPI_Allreduce(a, b, 3, MPI_INT, MPI_SUM, part);
  if (size > 1) {
    MPI_Intercomm_create(part, 0, W, 1 - rank % 2, 5, &both);
    MPI_Barrier(both);
    MPI_Bcast(a, 1, MPI_INT, rank % 2 == 0 ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0, both);
    MPI_Intercomm_merge(both, rank % 2, &again);
    MPI_Allreduce(a, b, 3, MPI_INT, MPI_SUM, again);
    MPI_Comm_free(&both);
    MPI_Comm_free(&again);
  }
  MPI_Comm_free(&part);
}
CASE(ok_many_rounds) {
  UNUSED;
  for (int i = 0; i < 2000; ++i) {
    MPI_Bcast(d, 1 + i % 7, MPI_DOUBLE, i % size, W);
    if (i % 3 == 0) MPI_Reduce(a, b, 1, MPI_INT, MPI_SUM, 0, W);
  }
}

PROGRAM(ROW(barrier_allreduce), ROW(bcast_reduce_swapped), ROW(ibarrier_barrier), ROW(gather_allgather),
        ROW(dup_barrier), ROW(ibcast_ireduce_swapped), ROW(bcast_only_root), ROW(one_bcast_more),
        ROW(bcast_root), ROW(reduce_root), ROW(gather_root), ROW(scatter_root), ROW(ibcast_root),
        ROW(persistent_bcast_root), ROW(reduce_operation), ROW(allreduce_operation), ROW(scan_operation),
        ROW(bcast_count), ROW(bcast_type), ROW(bcast_bytes), ROW(allreduce_count), ROW(allreduce_type),
        ROW(reduce_count), ROW(gather_count), ROW(gather_type), ROW(gatherv_count), ROW(scatter_count),
        ROW(scatterv_type), ROW(allgather_count), ROW(allgatherv_counts), ROW(alltoall_type),
        ROW(alltoallv_counts), ROW(alltoallw_types), ROW(reduce_scatter_counts), ROW(iallreduce_count),
        ROW(part_bcast_root), ROW(sum_of_characters), ROW(ok_sum_of_signed_characters),
        ROW(ok_different_maps), ROW(ok_in_place), ROW(ok_arrays_of_counts), ROW(ok_nothing),
        ROW(ok_own_operation), ROW(ok_overlapping_starts), ROW(ok_parts), ROW(ok_many_rounds))
