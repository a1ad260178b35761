// Two processes talk, and then each waits for a message that never comes: what ends them is what happens to
// the machine of the other one.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, size, word = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int other = (rank + size / 2) % size;
  MPI_Sendrecv(&rank, 1, MPI_INT, other, 1, &word, 1, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  printf("waits\n");
  fflush(stdout);
  MPI_Recv(&word, 1, MPI_INT, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  printf("a message that nobody has sent\n");
  MPI_Finalize();
  return 0;
}
