/* Messages that arrive before their receives are posted. The partner sends `window` messages of different
 * tags and then a token. Once the leader has the token, it receives them in the opposite order, the worst
 * case for a queue that is searched from the front. Only the receives are timed. */
#include <mpi.h>

#include "driver.h"

double receive_unexpected(const struct run* run, int leads, int partner, int iterations) {
  MPI_Request requests[window_max];
  const int count = (int)run->bytes;
  double sum = 0;
  int round, i;
  for (round = 0; round <= iterations; ++round) {
    const uint64_t seed = (uint64_t)round * (uint64_t)run->window;
    if (leads) {
      double begin;
      MPI_Recv(NULL, 0, MPI_BYTE, partner, tag_ready, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      begin = now_ns();
      for (i = run->window - 1; i >= 0; --i) {
        MPI_Recv(receive_slot(run->bytes, i), count, MPI_BYTE, partner, tag_data + i, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
      }
      if (round > 0) sum += now_ns() - begin - clock_cost_ns();
      MPI_Send(NULL, 0, MPI_BYTE, partner, tag_done, MPI_COMM_WORLD);
      for (i = 0; i < run->window; ++i) {
        check(receive_slot(run->bytes, i), run->bytes, seed + (uint64_t)i);
      }
    } else {
      for (i = 0; i < run->window; ++i) {
        fill(send_slot(run->bytes, i), run->bytes, seed + (uint64_t)i);
        MPI_Isend(send_slot(run->bytes, i), count, MPI_BYTE, partner, tag_data + i, MPI_COMM_WORLD,
                  &requests[i]);
      }
      MPI_Send(NULL, 0, MPI_BYTE, partner, tag_ready, MPI_COMM_WORLD);
      MPI_Waitall(run->window, requests, MPI_STATUSES_IGNORE);
      MPI_Recv(NULL, 0, MPI_BYTE, partner, tag_done, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  return sum / iterations / run->window;
}
