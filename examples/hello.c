/* The first program: mpicc hello.c -o hello && mpiexec -n 4 ./hello */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  /* Every rank tells rank 0 its number; rank 0 says hello for all of them. */
  if (rank == 0) {
    printf("Hello from rank 0 of %d\n", size);
    for (int other = 1; other < size; ++other) {
      int number = -1;
      MPI_Recv(&number, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      printf("Hello from rank %d of %d\n", number, size);
    }
  } else {
    MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }

  MPI_Finalize();
  return 0;
}
