// Processes wait for messages that never arrive, until the test kills a process or disconnects its machine.
//   wait_for_ever            have exchanged a message before; errors end the job
//   wait_for_ever told       the same, but each prints the error that it gets
//   wait_for_ever strangers  like told, but no message was exchanged before
//   wait_for_ever together   like told, but all wait in a collective
//   wait_for_ever near       like told, but each waits for the other rank on its own machine, two per machine
#include <mpi-ext.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, size, word = 0;
  const char* how = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int other = strcmp(how, "near") == 0 ? rank ^ 1 : (rank + size / 2) % size;
  if (strcmp(how, "strangers") != 0) {
    MPI_Sendrecv(&rank, 1, MPI_INT, other, 1, &word, 1, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (*how != 0) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  printf("%d waits as process %d\n", rank, (int)getpid());
  fflush(stdout);
  const int together = strcmp(how, "together") == 0;
  if (together && rank == size - 1) pause();
  const int error = together ? MPI_Barrier(MPI_COMM_WORLD)
                             : MPI_Recv(&word, 1, MPI_INT, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (error == MPI_SUCCESS) {
    printf("a message that was never sent\n");
  } else {
    char text[MPI_MAX_ERROR_STRING];
    int class, bytes;
    MPI_Error_class(error, &class);
    MPI_Error_string(error, text, &bytes);
    printf("%d told: %s: %s\n", rank, class == MPIX_ERR_PROC_FAILED ? "failed" : "something else", text);
  }
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
