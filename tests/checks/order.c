// Calls that wait for each other forever, or that would without buffered sends.
#include "cases.h"

static int a[4], b[4];

CASE(receive_receive) {
  UNUSED;
  MPI_Recv(a, 1, MPI_INT, 1 - rank, 0, W, IGNORE);
  MPI_Send(b, 1, MPI_INT, 1 - rank, 0, W);
}
CASE(ssend_ssend) {
  UNUSED;
  MPI_Ssend(b, 1, MPI_INT, 1 - rank, 0, W);
  MPI_Recv(a, 1, MPI_INT, 1 - rank, 0, W, IGNORE);
}
CASE(send_send) {
  UNUSED;
  MPI_Send(b, 1, MPI_INT, 1 - rank, 0, W);
  MPI_Recv(a, 1, MPI_INT, 1 - rank, 0, W, IGNORE);
}
CASE(long_send_send) {
  UNUSED;
  const int count = 1 << 20;
  int* long_one = calloc((size_t)count, sizeof(int));
  MPI_Send(long_one, count, MPI_INT, 1 - rank, 0, W);
  MPI_Recv(long_one, count, MPI_INT, 1 - rank, 0, W, IGNORE);
  free(long_one);
}
CASE(send_ring) {
  MPI_Send(b, 1, MPI_INT, (rank + 1) % size, 0, W);
  MPI_Recv(a, 1, MPI_INT, (rank + size - 1) % size, 0, W, IGNORE);
}
CASE(isend_wait_ring) {
  MPI_Request request;
  MPI_Isend(b, 1, MPI_INT, (rank + 1) % size, 0, W, &request);
  MPI_Wait(&request, IGNORE);
  MPI_Recv(a, 1, MPI_INT, (rank + size - 1) % size, 0, W, IGNORE);
}
CASE(receive_ring) {
  MPI_Recv(a, 1, MPI_INT, (rank + size - 1) % size, 0, W, IGNORE);
  MPI_Send(b, 1, MPI_INT, (rank + 1) % size, 0, W);
}
CASE(wrong_tag) {
  UNUSED;
  if (rank == 0) MPI_Send(a, 1, MPI_INT, 1, 1, W);
  if (rank == 1) MPI_Recv(a, 1, MPI_INT, 0, 2, W, IGNORE);
}
CASE(wrong_communicator) {
  UNUSED;
  MPI_Comm other;
  MPI_Comm_dup(W, &other);
  if (rank == 0) MPI_Send(a, 1, MPI_INT, 1, 1, other);
  if (rank == 1) MPI_Recv(a, 1, MPI_INT, 0, 1, W, IGNORE);
  MPI_Comm_free(&other);
}
CASE(wrong_source) {
  UNUSED;
  if (rank == 0) MPI_Send(a, 1, MPI_INT, 1, 1, W);
  if (rank == 1) MPI_Recv(a, 1, MPI_INT, 2, 1, W, IGNORE);
}
CASE(wait_for_nothing) {
  UNUSED;
  MPI_Request request;
  if (rank == 1) {
    MPI_Irecv(a, 1, MPI_INT, 0, 1, W, &request);
    MPI_Wait(&request, IGNORE);
  }
}
CASE(probe_for_nothing) {
  UNUSED;
  if (rank == 1) MPI_Probe(MPI_ANY_SOURCE, 1, W, IGNORE);
}
CASE(receive_too_many) {
  UNUSED;
  if (rank == 0) MPI_Send(a, 1, MPI_INT, 1, 1, W);
  if (rank == 1) {
    MPI_Recv(a, 1, MPI_INT, MPI_ANY_SOURCE, 1, W, IGNORE);
    MPI_Recv(a, 1, MPI_INT, MPI_ANY_SOURCE, 1, W, IGNORE);
  }
}
CASE(barrier_missing) {
  UNUSED;
  if (rank != 0) MPI_Barrier(W);
}
CASE(barrier_and_receive) {
  UNUSED;
  if (rank == 0) MPI_Barrier(W);
  if (rank == 1) MPI_Recv(a, 1, MPI_INT, 0, 0, W, IGNORE);
  if (rank == 1) MPI_Barrier(W);
  if (rank == 0) MPI_Send(a, 1, MPI_INT, 1, 0, W);
}
CASE(communicators_crossed) {
  UNUSED;
  MPI_Comm other;
  MPI_Comm_dup(W, &other);
  MPI_Barrier(rank == 0 ? W : other);
  MPI_Barrier(rank == 0 ? other : W);
  MPI_Comm_free(&other);
}
CASE(split_missing) {
  UNUSED;
  MPI_Comm part;
  if (rank == 0) return;
  MPI_Comm_split(W, rank % 2, 0, &part);
  MPI_Comm_free(&part);
}

// Correct programs.
CASE(ok_exchange) {
  UNUSED;
  if (rank == 0) {
    MPI_Send(a, 1, MPI_INT, 1, 0, W);
    MPI_Recv(b, 1, MPI_INT, 1, 0, W, IGNORE);
  } else if (rank == 1) {
    MPI_Recv(b, 1, MPI_INT, 0, 0, W, IGNORE);
    MPI_Send(a, 1, MPI_INT, 0, 0, W);
  }
}
CASE(ok_sendrecv_ring) {
  MPI_Sendrecv(a, 1, MPI_INT, (rank + 1) % size, 0, b, 1, MPI_INT, (rank + size - 1) % size, 0, W, IGNORE);
}
CASE(ok_isend_ring) {
  MPI_Request requests[2];
  MPI_Irecv(b, 1, MPI_INT, (rank + size - 1) % size, 0, W, &requests[0]);
  MPI_Isend(a, 1, MPI_INT, (rank + 1) % size, 0, W, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}
CASE(ok_ring_with_a_break) {
  if (rank == 0) MPI_Ssend(a, 1, MPI_INT, 1, 0, W);
  MPI_Recv(b, 1, MPI_INT, (rank + size - 1) % size, 0, W, IGNORE);
  if (rank != 0) MPI_Ssend(a, 1, MPI_INT, (rank + 1) % size, 0, W);
}
CASE(ok_late_rank) {
  UNUSED;
  if (rank == 0) {
    // Longer than the time after which --check examines a wait.
    const double end = MPI_Wtime() + 1.4;
    while (MPI_Wtime() < end) {
    }
  }
  MPI_Barrier(W);
}
CASE(ok_workers) {
  if (rank == 0) {
    for (int i = 0; i < 3 * (size - 1); ++i) MPI_Recv(a, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, W, IGNORE);
  } else {
    for (int i = 0; i < 3; ++i) MPI_Send(b, 1, MPI_INT, 0, i, W);
  }
}

PROGRAM(ROW(receive_receive), ROW(ssend_ssend), ROW(send_send), ROW(long_send_send), ROW(send_ring),
        ROW(isend_wait_ring), ROW(receive_ring), ROW(wrong_tag), ROW(wrong_communicator), ROW(wrong_source),
        ROW(wait_for_nothing), ROW(probe_for_nothing), ROW(receive_too_many), ROW(barrier_missing),
        ROW(barrier_and_receive), ROW(communicators_crossed), ROW(split_missing), ROW(ok_exchange),
        ROW(ok_sendrecv_ring), ROW(ok_isend_ring), ROW(ok_ring_with_a_break), ROW(ok_late_rank),
        ROW(ok_workers))
