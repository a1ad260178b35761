// The result depends on which message matches first, and the program relies on one order.
#include "cases.h"

static int a[4], b[4];

CASE(first_from_one) {
  if (rank != 0) MPI_Send(&rank, 1, MPI_INT, 0, 0, W);
  for (int i = 1; i < size && rank == 0; ++i) MPI_Recv(a + i % 4, 1, MPI_INT, MPI_ANY_SOURCE, 0, W, IGNORE);
  if (rank == 0 && a[1] != 1) puts("an order that the program does not expect");
}
CASE(wildcard_and_name) {
  UNUSED;
  if (rank == 1 || rank == 2) MPI_Send(a, 1, MPI_INT, 0, 0, W);
  if (rank == 0) {
    // If the message of rank 1 matched first, the second receive would never complete.
    MPI_Probe(2, 0, W, IGNORE);
    MPI_Recv(b, 1, MPI_INT, MPI_ANY_SOURCE, 0, W, IGNORE);
    MPI_Recv(b, 1, MPI_INT, MPI_ANY_SOURCE, 0, W, IGNORE);
  }
}
CASE(ok_any_order) {
  if (rank != 0) MPI_Send(&rank, 1, MPI_INT, 0, 0, W);
  for (int i = 1; i < size && rank == 0; ++i) {
    MPI_Status status;
    MPI_Recv(b, 1, MPI_INT, MPI_ANY_SOURCE, 0, W, &status);
    if (b[0] != status.MPI_SOURCE) MPI_Abort(W, 3);
  }
}

PROGRAM(ROW(first_from_one), ROW(wildcard_and_name), ROW(ok_any_order))
