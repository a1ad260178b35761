/* An exchange between two ranks with new buffers in each step: both ranks allocate a send and a receive
 * buffer, fill the first, exchange, check the second, and free both. All of it is timed, since an allocator
 * may move the cost of new memory from one of these steps to another. The same exchange with permanent
 * buffers shows the remaining cost. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "driver.h"

static unsigned char* allocate(size_t bytes) {
  unsigned char* block = malloc(bytes);
  if (block == NULL) {
    fprintf(stderr, "bench_driver: no memory for %zu bytes\n", bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return block;
}

static double exchange_with(const struct run* run, int is_fresh, int partner, int iterations) {
  const int count = (int)run->bytes;
  double begin = 0;
  int i;
  /* Round 0 is not timed. */
  for (i = 0; i <= iterations; ++i) {
    unsigned char* out = is_fresh ? allocate(run->bytes) : send_slot(run->bytes, 0);
    unsigned char* in = is_fresh ? allocate(run->bytes) : receive_slot(run->bytes, 0);
    fill(out, run->bytes, (uint64_t)i);
    MPI_Sendrecv(out, count, MPI_BYTE, partner, tag_data, in, count, MPI_BYTE, partner, tag_data,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(in, run->bytes, (uint64_t)i);
    if (is_fresh) {
      free(out);
      free(in);
    }
    if (i == 0) begin = now_ns();
  }
  return (now_ns() - begin) / iterations;
}

double exchange_fresh(const struct run* run, int leads, int partner, int iterations) {
  (void)leads;
  return exchange_with(run, 1, partner, iterations);
}

double exchange_kept(const struct run* run, int leads, int partner, int iterations) {
  (void)leads;
  return exchange_with(run, 0, partner, iterations);
}
