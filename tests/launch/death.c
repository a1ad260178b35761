/* A rank that dies, and others that have their errors returned or not. argv[1]: what becomes of them:
 *   fatal     the default handler
 *   return    MPI_ERRORS_RETURN: each prints what its receive came to, and ends well
 *   idle      the same, but they do not end
 *   finish    they do not need the dead rank, and compute on for longer than the grace
 */
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
