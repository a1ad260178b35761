/* A token goes around the ring of all ranks several times and grows on its way: each rank checks every byte
 * that it receives and adds its own. A single rank sends to itself. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void expect(int condition, const char* what, int lap) {
  if (condition) return;
  fprintf(stderr, "ring: %s is wrong in lap %d\n", what, lap);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  enum { kLaps = 8, kNumbersMax = 1 << 16 };
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int next = (rank + 1) % size;
  const int previous = (rank + size - 1) % size;
  long* token = calloc(kNumbersMax, sizeof(long));
  long* received = calloc(kNumbersMax, sizeof(long));

  for (int lap = 0; lap < kLaps; ++lap) {
    const int numbers = lap == 0 ? 0 : 1 << (2 * lap);
    if (rank == 0)
      for (int i = 0; i < numbers; ++i) token[i] = lap * 1000L + i;

    MPI_Request request;
    MPI_Status status;
    if (rank == 0) {
      MPI_Isend(token, numbers, MPI_LONG, next, lap, MPI_COMM_WORLD, &request);
      MPI_Recv(received, kNumbersMax, MPI_LONG, previous, lap, MPI_COMM_WORLD, &status);
    } else {
      MPI_Recv(received, kNumbersMax, MPI_LONG, previous, lap, MPI_COMM_WORLD, &status);
      for (int i = 0; i < numbers; ++i) token[i] = received[i] + rank;
      MPI_Isend(token, numbers, MPI_LONG, next, lap, MPI_COMM_WORLD, &request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    int count = -1;
    MPI_Get_count(&status, MPI_LONG, &count);
    expect(count == numbers, "the count", lap);
    expect(status.MPI_SOURCE == previous, "the source", lap);
    expect(status.MPI_TAG == lap, "the tag", lap);
    /* Every rank from 0 to the previous one has added its own number. */
    const long ranks_before = rank == 0 ? size : rank;
    const long added = ranks_before * (ranks_before - 1) / 2;
    for (int i = 0; i < numbers; ++i) expect(received[i] == lap * 1000L + i + added, "a number", lap);
  }

  free(token);
  free(received);
  MPI_Finalize();
  return 0;
}
