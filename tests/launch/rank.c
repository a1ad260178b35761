/* A rank whose behaviour its first argument selects (test_mpi.py). */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

static int is(const char* word, const char* other) {
  return strcmp(word, other) == 0;
}

/* All ranks except 1 wait for rank 1, which returns after a moment. */
static void wait_for_rank_1(void) {
  int value = 0;
  if (rank == 1) {
    usleep(300 * 1000);
  } else {
    MPI_Recv(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "report";
  if (is(what, "before-init") && getenv("PMI_RANK") != NULL && is(getenv("PMI_RANK"), "1")) return 5;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  if (is(what, "report")) {
    int *number = NULL, found = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &found);
    printf("rank %d of %d, program %d\n", rank, size, found ? *number : -1);
  } else if (is(what, "exit")) {
    wait_for_rank_1();
    if (rank == 1) exit(atoi(argv[2]));
  } else if (is(what, "crash")) {
    wait_for_rank_1();
    if (rank == 1) raise(atoi(argv[2]));
  } else if (is(what, "abort")) {
    wait_for_rank_1();
    if (rank == 1) MPI_Abort(MPI_COMM_WORLD, atoi(argv[2]));
  } else if (is(what, "before-init")) {
    wait_for_rank_1();
  } else if (is(what, "hang")) {
    int value = 0;
    if (rank == 0) MPI_Recv(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1)
      MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 2) MPI_Barrier(MPI_COMM_WORLD);
    for (;;) pause();
  } else if (is(what, "run")) {
    /* The ranks run the command one after another. */
    int turn;
    for (turn = 0; turn < size; ++turn) {
      MPI_Barrier(MPI_COMM_WORLD);
      if (turn == rank && system(argv[2]) != 0) exit(1);
    }
  } else if (is(what, "after-finalize")) {
    MPI_Finalize();
    return rank == 1 ? 6 : 0;
  } else {
    fprintf(stderr, "unknown: %s\n", what);
    exit(2);
  }
  MPI_Finalize();
  return 0;
}
