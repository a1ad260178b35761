/* The last rank dies; the mode in argv[1] determines what the others do:
 *   fatal     default error handler
 *   return    MPI_ERRORS_RETURN: each prints the error of its receive and ends normally
 *   idle      like return, but they do not end
 *   finish    they do not communicate with the dead rank, and compute for longer than the grace period */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "fatal";
  int rank, size, number = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(mode, "fatal") != 0) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  const int victim = size - 1;
  if (rank == victim) {
    usleep(20000);
    raise(SIGKILL);
  }
  if (strcmp(mode, "finish") == 0) {
    usleep(1500000);
  } else {
    const int code = MPI_Recv(&number, 1, MPI_INT, victim, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    printf("rank %d: %s\n", rank, text);
    fflush(stdout);
  }
  if (strcmp(mode, "idle") == 0) pause();
  MPI_Finalize();
  return 0;
}
