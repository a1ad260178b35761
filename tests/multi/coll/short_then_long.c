/* Short stages use only the first part of the pipeline buffers, so a long stage that follows has room. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kShort = 2048, kBlock = 32 * 1024, kShortMax = 80 };

static int rank, size;

static void check(const char* what, int round, int got, int expected) {
  if (got == expected) return;
  fprintf(stderr, "rank %d, round %d: %s is %d, not %d\n", rank, round, what, got, expected);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  static char word[kShort];
  char* out = calloc((size_t)size, kBlock);
  char* in = malloc((size_t)size * kBlock);
  for (int round = 0; round < kShortMax; ++round) {
    for (int i = 0; i < round; ++i) {
      word[kShort - 1] = (char)(rank == i % size ? i : -1);
      MPI_Bcast(word, kShort, MPI_BYTE, i % size, MPI_COMM_WORLD);
      check("what was broadcast", round, word[kShort - 1], i);
    }
    for (int to = 0; to < size; ++to) out[(to + 1) * kBlock - 1] = (char)(rank + round);
    MPI_Alltoall(out, kBlock, MPI_BYTE, in, kBlock, MPI_BYTE, MPI_COMM_WORLD);
    for (int from = 0; from < size; ++from)
      check("a block", round, in[(from + 1) * kBlock - 1], from + round);
  }
  free(in);
  free(out);
  MPI_Finalize();
  return 0;
}
