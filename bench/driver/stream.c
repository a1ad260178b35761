/* Messages one after the other, up to 64 in flight, in one direction or in both, between many pairs of ranks
 * at the same time.
 *
 * A window: the receiver announces that it is ready and begins to post its receives. The sender, timed from
 * then on, posts all its sends, waits for them and for one empty message that confirms the arrival of all.
 * Each message has its own buffer on both sides. Rewriting and checking happen between the windows and are
 * not timed. */
#include <mpi.h>

#include "driver.h"

int window_by_volume(size_t bytes) {
  const size_t volume = (size_t)2 << 20;
  if (bytes <= volume / window_max) return window_max;
  return bytes >= volume / 2 ? 2 : (int)(volume / bytes);
}

static void post_receives(const struct run* run, int partner, MPI_Request* requests) {
  int i;
  for (i = 0; i < run->window; ++i) {
    MPI_Irecv(receive_slot(run->bytes, i), (int)run->bytes, MPI_BYTE, partner, tag_data, MPI_COMM_WORLD,
              &requests[i]);
  }
}

static void post_sends(const struct run* run, int partner, MPI_Request* requests) {
  int i;
  for (i = 0; i < run->window; ++i) {
    MPI_Isend(send_slot(run->bytes, i), (int)run->bytes, MPI_BYTE, partner, tag_data, MPI_COMM_WORLD,
              &requests[i]);
  }
}

static uint64_t seed_of(const struct run* run, int iteration, int slot) {
  return (uint64_t)iteration * (uint64_t)run->window + (uint64_t)slot;
}

static void fill_slots(const struct run* run, int iteration) {
  int i;
  for (i = 0; i < run->window; ++i) {
    fill(send_slot(run->bytes, i), run->bytes, seed_of(run, iteration, i));
  }
}

static void check_slots(const struct run* run, int iteration) {
  int i;
  for (i = 0; i < run->window; ++i) {
    check(receive_slot(run->bytes, i), run->bytes, seed_of(run, iteration, i));
  }
}

static void send_token(int partner, int tag) {
  MPI_Send(NULL, 0, MPI_BYTE, partner, tag, MPI_COMM_WORLD);
}

static void receive_token(int partner, int tag) {
  MPI_Recv(NULL, 0, MPI_BYTE, partner, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void exchange_tokens(int partner, int tag) {
  MPI_Sendrecv(NULL, 0, MPI_BYTE, partner, tag, NULL, 0, MPI_BYTE, partner, tag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

double stream_one_way(const struct run* run, int leads, int partner, int iterations) {
  MPI_Request requests[window_max];
  double sum = 0;
  int i;
  /* Window 0 synchronizes both ranks and is not timed. */
  for (i = 0; i <= iterations; ++i) {
    if (leads) {
      double begin;
      fill_slots(run, i);
      receive_token(partner, tag_ready);
      begin = now_ns();
      post_sends(run, partner, requests);
      MPI_Waitall(run->window, requests, MPI_STATUSES_IGNORE);
      receive_token(partner, tag_done);
      if (i > 0) sum += now_ns() - begin - clock_cost_ns();
    } else {
      send_token(partner, tag_ready);
      post_receives(run, partner, requests);
      MPI_Waitall(run->window, requests, MPI_STATUSES_IGNORE);
      send_token(partner, tag_done);
      check_slots(run, i);
    }
  }
  return sum / iterations / run->window;
}

double stream_both_ways(const struct run* run, int leads, int partner, int iterations) {
  MPI_Request requests[2 * window_max];
  double sum = 0;
  int i;
  (void)leads;
  for (i = 0; i <= iterations; ++i) {
    double begin;
    fill_slots(run, i);
    exchange_tokens(partner, tag_ready);
    begin = now_ns();
    post_receives(run, partner, requests);
    post_sends(run, partner, requests + run->window);
    MPI_Waitall(2 * run->window, requests, MPI_STATUSES_IGNORE);
    exchange_tokens(partner, tag_done);
    if (i > 0) sum += now_ns() - begin - clock_cost_ns();
    check_slots(run, i);
  }
  return sum / iterations / (2 * run->window);
}
