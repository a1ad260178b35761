/* Takes memory by MPI_Alloc_mem until the system refuses more (argument 2: memory is limited strictly) or for
 * a while (argument 0), touches all of it, then exchanges long messages and a long collective. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { block_bytes = 16 << 20, blocks_max = 256, blocks_few = 8, count = 1 << 18 };

static void fail(const char* text) {
  fprintf(stderr, "%s\n", text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  int rank, size, taken = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int strict = argc > 1 && strcmp(argv[1], "2") == 0;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  char* blocks[blocks_max];
  int code = MPI_SUCCESS;
  while (taken < (strict ? blocks_max : blocks_few)) {
    code = MPI_Alloc_mem(block_bytes, MPI_INFO_NULL, &blocks[taken]);
    if (code != MPI_SUCCESS) break;
    memset(blocks[taken++], rank + 1, block_bytes);
  }
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  if (strict && error_class != MPI_ERR_NO_MEM) fail("memory beyond the limit was not refused");
  for (int i = taken / 2; i < taken; ++i) MPI_Free_mem(blocks[i]);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  int *out = malloc(count * sizeof *out), *in = malloc(count * sizeof *in);
  if (out == NULL || in == NULL) fail("no memory although half of it was freed");
  for (int i = 0; i < count; ++i) out[i] = i + rank;
  MPI_Sendrecv(out, count, MPI_INT, (rank + 1) % size, 0, in, count, MPI_INT, (rank + size - 1) % size, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (in[count - 1] != count - 1 + (rank + size - 1) % size) fail("a message is wrong");
  MPI_Allreduce(out, in, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (in[1] != size + size * (size - 1) / 2) fail("a sum is wrong");
  for (int i = 0; i < taken / 2; ++i) {
    if (blocks[i][block_bytes - 1] != rank + 1) fail("memory has changed");
    MPI_Free_mem(blocks[i]);
  }
  puts("all right");
  MPI_Finalize();
  return 0;
}
