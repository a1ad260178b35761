/* The probe of `hearth bench --skew`: a producer that sends windows of messages to a consumer that works for
 * a while on each message before it receives the next (hybrid-kernel-user-2008, section 3.4, figures 5 and
 * 6), with several settings of the library that alternate in one job.
 *
 *   skew_probe BYTES malloc|mpi WINDOW ROUNDS DELAYS SETTINGS SETTINGS...
 *
 * DELAYS: work times of the consumer, in copy times of a message, separated by commas. Rank 0 prints
 *
 *   copy NS                      one copy of a message in its own memory
 *   block DELAY WHICH NS         the producer's time per message, averaged over a block of windows
 *   end FLOOR                    nanoseconds of one cache line from rank to rank after each delay
 *
 * The time of a message begins with the writing of its buffer, which takes longer if the receiver has read
 * that buffer, and ends when MPI_Waitall returns. Each window begins when the consumer is ready for it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"
#include "settings.h"

enum { windows_per_block = 16, copies = 15 };

struct plan {
  size_t bytes;
  int window, rounds, ways;
  char** settings;
};

static void stop(const char* what, const char* word) {
  fprintf(stderr, "skew_probe: %s '%s'\n", what, word);
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

static double copy_ns(size_t bytes) {
  double values[copies];
  int i;
  for (i = 0; i < copies; ++i) {
    const double begin = now_ns();
    memcpy(receive_slot(bytes, 0), send_slot(bytes, 0), bytes);
    /* Keeps the compiler from removing copies. */
    __asm__ volatile("" : : "r"(receive_slot(bytes, 0)) : "memory");
    values[i] = now_ns() - begin;
  }
  return median_of(values, copies);
}

static void work(double ns) {
  const double end = now_ns() + ns;
  while (now_ns() < end) continue;
}

static double produce(const struct plan* plan, uint64_t seed) {
  MPI_Request requests[window_max];
  double begin;
  int i;
  MPI_Recv(NULL, 0, MPI_BYTE, 1, tag_ready, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  begin = now_ns();
  for (i = 0; i < plan->window; ++i) {
    fill(send_slot(plan->bytes, i), plan->bytes, seed + (uint64_t)i);
    MPI_Isend(send_slot(plan->bytes, i), (int)plan->bytes, MPI_BYTE, 1, tag_data, MPI_COMM_WORLD,
              &requests[i]);
  }
  MPI_Waitall(plan->window, requests, MPI_STATUSES_IGNORE);
  return now_ns() - begin;
}

static void consume(const struct plan* plan, uint64_t seed, double delay_ns) {
  int i;
  MPI_Send(NULL, 0, MPI_BYTE, 0, tag_ready, MPI_COMM_WORLD);
  for (i = 0; i < plan->window; ++i) {
    MPI_Recv(receive_slot(plan->bytes, 0), (int)plan->bytes, MPI_BYTE, 0, tag_data, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    check(receive_slot(plan->bytes, 0), plan->bytes, seed + (uint64_t)i);
    work(delay_ns);
  }
}

/* Rank 0's time per message. */
static double block(const struct plan* plan, int which, double delay_ns, int rank) {
  double sum = 0;
  int i;
  settings_apply(plan->settings[which]);
  MPI_Barrier(MPI_COMM_WORLD);
  /* Window 0 removes the effects of the previous settings and is not timed. */
  for (i = 0; i <= windows_per_block; ++i) {
    const uint64_t seed = (uint64_t)i * (uint64_t)plan->window;
    if (rank == 0) {
      const double ns = produce(plan, seed);
      if (i > 0) sum += ns;
    } else {
      consume(plan, seed, delay_ns);
    }
  }
  return sum / windows_per_block / plan->window;
}

static void measure_delay(const struct plan* plan, const char* delay, double copy, int rank) {
  const double delay_ns = atof(delay) * copy;
  int round, i;
  for (round = 0; round < plan->rounds; ++round) {
    for (i = 0; i < plan->ways; ++i) {
      /* Forward and backward, so that a drift of the machine affects all settings. */
      const int which = round % 2 == 0 ? i : plan->ways - 1 - i;
      const double ns = block(plan, which, delay_ns, rank);
      if (rank == 0) printf("block %s %d %.1f\n", delay, which, ns);
    }
  }
}

int main(int count, char** words) {
  struct plan plan;
  double copy;
  char* delay;
  int rank, size, provided;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2 || count < 7)
    stop("needs two ranks and the words that `hearth bench --skew` gives it,", words[0]);
  plan.bytes = strtoul(words[1], NULL, 10);
  plan.window = atoi(words[3]);
  plan.rounds = atoi(words[4]);
  plan.settings = words + 6;
  plan.ways = count - 6;
  if (plan.bytes == 0 || plan.window < 1 || plan.window > window_max || plan.rounds < 1)
    stop("cannot be measured: a window of", words[3]);
  buffers_make(strcmp(words[2], "mpi") == 0, buffers_needed(plan.bytes, plan.window), 0, 0);
  floor_make(rank == 0, 1 - rank);
  copy = copy_ns(plan.bytes);
  MPI_Bcast(&copy, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("copy %.1f\n", copy);
  for (delay = strtok(words[5], ","); delay != NULL; delay = strtok(NULL, ",")) {
    measure_delay(&plan, delay, copy, rank);
    const double floor_ns = floor_one_way_ns(rank == 0);
    if (rank == 0) {
      printf("end %.1f\n", floor_ns);
      fflush(stdout);
    }
  }
  buffers_free();
  MPI_Finalize();
  MPI_T_finalize();
  return 0;
}
