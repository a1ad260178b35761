// Access to memory that MPI is using, and overlapping buffers.
#include "cases.h"

static int a[64], b[64];
static int long_one[1 << 18];
enum { kLong = 1 << 18 };

static void start_pair(int rank, MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  if (rank == 0) MPI_Isend(a, 8, MPI_INT, 1, 0, W, request);
  if (rank == 1) MPI_Irecv(b, 8, MPI_INT, 0, 0, W, request);
}

CASE(isend_changed) {
  UNUSED;
  MPI_Request request;
  start_pair(rank, &request);
  if (rank == 0) a[3] = 7;
  MPI_Wait(&request, IGNORE);
}
CASE(long_isend_changed) {
  UNUSED;
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 0) {
    MPI_Isend(long_one, kLong, MPI_INT, 1, 0, W, &request);
    long_one[kLong - 1] = 7;
  }
  if (rank == 1) MPI_Irecv(long_one, kLong, MPI_INT, 0, 0, W, &request);
  MPI_Wait(&request, IGNORE);
}
CASE(issend_changed_in_a_gap) {
  UNUSED;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Datatype column;
  MPI_Type_vector(4, 1, 4, MPI_INT, &column);
  MPI_Type_commit(&column);
  if (rank == 0) {
    MPI_Issend(a, 1, column, 1, 0, W, &request);
    a[4] = 7;
  }
  if (rank == 1) MPI_Irecv(b, 4, MPI_INT, 0, 0, W, &request);
  MPI_Wait(&request, IGNORE);
  MPI_Type_free(&column);
}
CASE(waitall_changed) {
  UNUSED;
  MPI_Request requests[3];
  if (rank > 1) return;
  for (int i = 0; i < 3; ++i) {
    if (rank == 0) MPI_Isend(a + i, 1, MPI_INT, 1, i, W, &requests[i]);
    if (rank == 1) MPI_Irecv(b + i, 1, MPI_INT, 0, i, W, &requests[i]);
  }
  if (rank == 0) a[1] = 7;
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
}
CASE(persistent_changed) {
  UNUSED;
  MPI_Request request;
  if (rank > 1) return;
  if (rank == 0) MPI_Send_init(a, 4, MPI_INT, 1, 0, W, &request);
  if (rank == 1) MPI_Recv_init(b, 4, MPI_INT, 0, 0, W, &request);
  for (int i = 0; i < 3; ++i) {
    MPI_Start(&request);
    if (rank == 0 && i == 1) a[0] = 7;
    MPI_Wait(&request, IGNORE);
  }
  MPI_Request_free(&request);
}
CASE(ibcast_changed) {
  UNUSED;
  MPI_Request request;
  MPI_Ibcast(a, 4, MPI_INT, 0, W, &request);
  if (rank == 0) a[2] = 7;
  MPI_Wait(&request, IGNORE);
}
CASE(iallreduce_changed) {
  UNUSED;
  MPI_Request request;
  MPI_Iallreduce(a, b, 4, MPI_INT, MPI_SUM, W, &request);
  a[2] = 7 + rank;
  MPI_Wait(&request, IGNORE);
}
CASE(receives_overlap) {
  UNUSED;
  MPI_Request requests[2];
  if (rank == 0) {
    MPI_Send(a, 4, MPI_INT, 1, 0, W);
    MPI_Send(a, 4, MPI_INT, 1, 1, W);
  } else if (rank == 1) {
    MPI_Irecv(b, 4, MPI_INT, 0, 0, W, &requests[0]);
    MPI_Irecv(b + 3, 4, MPI_INT, 0, 1, W, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
}
CASE(receive_into_sent) {
  UNUSED;
  MPI_Request request;
  if (rank > 1) return;
  MPI_Issend(a, 4, MPI_INT, 1 - rank, 0, W, &request);
  MPI_Recv(a, 4, MPI_INT, 1 - rank, 0, W, IGNORE);
  MPI_Wait(&request, IGNORE);
}
CASE(send_of_receiving) {
  UNUSED;
  MPI_Request request;
  if (rank > 1) return;
  MPI_Irecv(a, 4, MPI_INT, 1 - rank, 0, W, &request);
  MPI_Send(a, 4, MPI_INT, 1 - rank, 0, W);
  MPI_Wait(&request, IGNORE);
}
CASE(collective_into_receiving) {
  UNUSED;
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 1) MPI_Irecv(a, 4, MPI_INT, 0, 0, W, &request);
  MPI_Bcast(a, 4, MPI_INT, 0, W);
  if (rank == 0) MPI_Send(b, 4, MPI_INT, 1, 0, W);
  MPI_Wait(&request, IGNORE);
}
CASE(vectors_overlap) {
  UNUSED;
  MPI_Request requests[2];
  MPI_Datatype column;
  MPI_Type_vector(4, 2, 4, MPI_INT, &column);
  MPI_Type_commit(&column);
  if (rank == 0) {
    MPI_Send(a, 8, MPI_INT, 1, 0, W);
    MPI_Send(a, 8, MPI_INT, 1, 1, W);
  } else if (rank == 1) {
    MPI_Irecv(b, 1, column, 0, 0, W, &requests[0]);
    MPI_Irecv(b + 1, 1, column, 0, 1, W, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Type_free(&column);
}
CASE(allgather_alias) {
  UNUSED;
  MPI_Allgather(a + 2 * rank, 2, MPI_INT, a, 2, MPI_INT, W);
}
CASE(reduce_alias) {
  UNUSED;
  MPI_Reduce(a + 1, a, 4, MPI_INT, MPI_SUM, 0, W);
}
CASE(sendrecv_alias) {
  UNUSED;
  MPI_Sendrecv(a, 8, MPI_INT, 1 - rank, 0, a + 4, 8, MPI_INT, 1 - rank, 0, W, IGNORE);
}
CASE(alltoallv_alias) {
  int counts[16], places[16], others[16];
  for (int i = 0; i < size; ++i) counts[i] = 1, places[i] = 2 * i, others[i] = i == 1 ? 0 : 2 * i + 1;
  MPI_Alltoallv(a, counts, places, MPI_INT, a, counts, others, MPI_INT, W);
  UNUSED;
}
// Not detected: reading the buffer of a pending receive, and writing to it.
CASE(read_while_receiving) {
  UNUSED;
  MPI_Request request;
  start_pair(rank, &request);
  if (rank == 1) a[0] = b[0];
  MPI_Wait(&request, IGNORE);
}
CASE(write_while_receiving) {
  UNUSED;
  MPI_Request request;
  start_pair(rank, &request);
  if (rank == 1) b[0] = 7;
  MPI_Wait(&request, IGNORE);
}

CASE(ok_changed_after) {
  UNUSED;
  MPI_Request request;
  for (int i = 0; i < 5; ++i) {
    start_pair(rank, &request);
    MPI_Wait(&request, IGNORE);
    a[i] = b[i] = i;
  }
}
CASE(ok_sent_twice) {
  UNUSED;
  MPI_Request requests[2];
  if (rank > 1) return;
  for (int i = 0; i < 2; ++i) {
    if (rank == 0) MPI_Isend(a, 4, MPI_INT, 1, i, W, &requests[i]);
    if (rank == 1) MPI_Irecv(b + 4 * i, 4, MPI_INT, 0, i, W, &requests[i]);
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}
CASE(ok_interleaved) {
  UNUSED;
  MPI_Request requests[2];
  MPI_Datatype column;
  MPI_Type_vector(4, 1, 2, MPI_INT, &column);
  MPI_Type_commit(&column);
  if (rank == 0) {
    MPI_Send(a, 4, MPI_INT, 1, 0, W);
    MPI_Send(a, 1, column, 1, 1, W);
  } else if (rank == 1) {
    MPI_Irecv(b, 1, column, 0, 0, W, &requests[0]);
    MPI_Irecv(b + 1, 1, column, 0, 1, W, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Type_free(&column);
}
CASE(ok_gap_changed) {
  UNUSED;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Datatype column;
  MPI_Type_vector(4, 1, 2, MPI_INT, &column);
  MPI_Type_commit(&column);
  if (rank == 0) {
    MPI_Issend(a, 1, column, 1, 0, W, &request);
    a[1] = 7;
  }
  if (rank == 1) MPI_Irecv(b, 4, MPI_INT, 0, 0, W, &request);
  MPI_Wait(&request, IGNORE);
  MPI_Type_free(&column);
}
CASE(ok_moved_requests) {
  UNUSED;
  MPI_Request one, moved[4];
  if (rank > 1) return;
  for (int i = 0; i < 4; ++i) {
    if (rank == 0) MPI_Isend(a + i, 1, MPI_INT, 1, i, W, &one);
    if (rank == 1) MPI_Irecv(b + i, 1, MPI_INT, 0, i, W, &one);
    moved[3 - i] = one;
  }
  for (int i = 0; i < 4; ++i) {
    MPI_Wait(&moved[i], IGNORE);
    a[3 - i] = b[3 - i] = i;
  }
}
CASE(ok_halves) {
  UNUSED;
  MPI_Sendrecv(a, 8, MPI_INT, 1 - rank, 0, a + 8, 8, MPI_INT, 1 - rank, 0, W, IGNORE);
  MPI_Allreduce(a, a + 8, 8, MPI_INT, MPI_SUM, W);
  MPI_Sendrecv_replace(a, 8, MPI_INT, 1 - rank, 0, 1 - rank, 0, W, IGNORE);
}
CASE(ok_persistent) {
  UNUSED;
  MPI_Request requests[2];
  if (rank > 1) return;
  MPI_Send_init(a, 4, MPI_INT, 1 - rank, 0, W, &requests[0]);
  MPI_Recv_init(b, 4, MPI_INT, 1 - rank, 0, W, &requests[1]);
  for (int i = 0; i < 4; ++i) {
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    a[i] = b[i] = i;
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

PROGRAM(ROW(isend_changed), ROW(long_isend_changed), ROW(issend_changed_in_a_gap), ROW(waitall_changed),
        ROW(persistent_changed), ROW(ibcast_changed), ROW(iallreduce_changed), ROW(receives_overlap),
        ROW(receive_into_sent), ROW(send_of_receiving), ROW(collective_into_receiving), ROW(vectors_overlap),
        ROW(allgather_alias), ROW(reduce_alias), ROW(sendrecv_alias), ROW(alltoallv_alias),
        ROW(read_while_receiving), ROW(write_while_receiving), ROW(ok_changed_after), ROW(ok_sent_twice),
        ROW(ok_interleaved), ROW(ok_gap_changed), ROW(ok_moved_requests), ROW(ok_halves), ROW(ok_persistent))
