#define _DEFAULT_SOURCE 1 /* usleep */
/* Two ranks exchange a message and reduce a number; with an argument, rank 1 ends without doing so. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int count, char** words) {
  int rank, sent, received = -1, sum = 0;
  (void)words;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  sent = rank;
  if (count > 1 && rank == 1) {
    usleep(200000); /* so that rank 0 waits for longer than a millisecond, after which its wait is known */
    return 7;
  }
  MPI_Sendrecv(&sent, 1, MPI_INT, 1 - rank, 0, &received, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Allreduce(&sent, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (received != 1 - rank || sum != 1) return 1;
  if (rank == 0) puts("exchanged");
  MPI_Finalize();
  return 0;
}
