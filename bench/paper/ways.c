/* Several protocols for the same messages, alternating in one job: half a round trip, a stream of them, or
 * MPI_Alltoall. The sender rewrites every message and the receiver checks every byte; neither is timed
 * (driver.h).
 *
 * NODE: the memory node of the program's own buffers, - for the system's choice. */
#define _GNU_SOURCE 1
#include <linux/mempolicy.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../driver/driver.h"
#include "../settings.h"
#include "paper.h"

static int one(size_t bytes) {
  (void)bytes;
  return 1;
}

static const struct bench_case cases[] = {
    {"latency", pingpong, one, 1, "", 0, 0, collective_none},
    {"stream", stream_one_way, window_by_volume, 1, "", 0, 0, collective_none},
    {"alltoall", run_collective, one, 0, "", 0, 0, collective_alltoall},
};

struct plan {
  struct run run;
  struct ways ways;
  int rounds;
  double block_ns;
  int rank;
};

static const struct bench_case* case_of(const char* word) {
  size_t i;
  for (i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    if (strcmp(cases[i].name, word) == 0) return &cases[i];
  }
  stop("no such case:", word);
  return NULL;
}

static int is_collective(const struct plan* plan) {
  return plan->run.what->collective != collective_none;
}

static double block(const struct plan* plan, int which, int iterations) {
  const int pairs = plan->run.pairs, rank = plan->rank;
  double mine = 0;
  settings_apply(plan->ways.way[which].settings);
  MPI_Barrier(MPI_COMM_WORLD);
  if (is_collective(plan)) {
    mine = run_collective(&plan->run, rank == 0, 0, iterations);
  } else if (rank < pairs) {
    mine = plan->run.what->run(&plan->run, 1, rank + pairs, iterations);
  } else if (rank < 2 * pairs) {
    plan->run.what->run(&plan->run, 0, rank - pairs, iterations);
  }
  return slowest_of(rank < pairs || rank == 0 ? mine : 0);
}

/* So many iterations that the slowest way takes a block's time. */
static int calibrate(const struct plan* plan) {
  double slowest = 0;
  int iterations = 1, which, attempt;
  for (which = 0; which < plan->ways.count; ++which) {
    double quickest = 0;
    for (attempt = 0; attempt < 3; ++attempt) {
      const double begin = now_ns();
      double ns;
      block(plan, which, 2);
      ns = (now_ns() - begin) / 3; /* the first round of a block is executed but not timed */
      if (attempt == 0 || ns < quickest) quickest = ns;
    }
    if (quickest > slowest) slowest = quickest;
  }
  if (slowest < plan->block_ns) iterations = (int)(plan->block_ns / slowest);
  if (iterations > 100000) iterations = 100000;
  MPI_Bcast(&iterations, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return iterations;
}

static void measure_length(struct plan* plan, size_t bytes, int size) {
  int iterations, round, i;
  plan->run.bytes = bytes;
  plan->run.window = plan->run.what->window(bytes);
  plan->run.fill_and_check_ns = !is_collective(plan) ? fill_and_check_cost_ns(&plan->run)
                                : plan->rank == 0    ? collective_work_cost_ns(&plan->run)
                                                     : 0;
  iterations = calibrate(plan);
  for (round = 0; round < plan->rounds; ++round) {
    for (i = 0; i < plan->ways.count; ++i) {
      const int which = way_in_turn(round, i, plan->ways.count);
      const double ns = block(plan, which, iterations);
      if (plan->rank == 0) print_value(plan->ways.way[which].name, (double)bytes, ns);
    }
  }
  print_floor(plan->rank, size);
}

/* Sets the node of memory that is touched from now on; -1: the system's policy. */
static void choose_node(int node) {
  enum { bits = 8 * sizeof(unsigned long) };
  unsigned long mask[1024 / bits] = {0};
  if (node >= 0) mask[node / bits] = 1ul << (node % bits);
  if (syscall(SYS_set_mempolicy, node >= 0 ? MPOL_BIND : MPOL_DEFAULT, node >= 0 ? mask : NULL,
              node >= 0 ? sizeof mask * 8 : 0) != 0)
    stop("the system does not give memory of that node", "");
}

void mode_ways(int count, char** words, int rank, int size) {
  struct plan plan;
  struct lengths lengths;
  size_t most = 0;
  int i;
  if (count < 7) stop("too few words for", "ways");
  memset(&plan, 0, sizeof plan);
  plan.run.what = case_of(words[0]);
  lengths_of(words[1], &lengths);
  plan.rounds = (int)number_of(words[3], 1, 10000);
  plan.block_ns = 1e3 * (double)number_of(words[4], 1, 10000000);
  ways_of(count - 6, words + 6, &plan.ways);
  plan.rank = rank;
  plan.run.ranks = size;
  plan.run.pairs = size / 2;
  if (size < 2) stop("needs two ranks or more for", words[0]);
  for (i = 0; i < lengths.count; ++i) {
    const size_t bytes = lengths.bytes[i];
    const size_t needed = is_collective(&plan) ? collective_area_bytes(plan.run.what->collective, bytes, size)
                                               : buffers_needed(bytes, plan.run.what->window(bytes));
    if (needed + line_bytes > most) most = needed + line_bytes;
  }
  if (strcmp(words[5], "-") != 0) choose_node((int)number_of(words[5], 0, 1023));
  buffers_make(strcmp(words[2], "mpi") == 0, most, 0, 0);
  if (strcmp(words[5], "-") != 0) choose_node(-1);
  if (is_collective(&plan)) together_make(rank, size, 1);
  for (i = 0; i < lengths.count; ++i) measure_length(&plan, lengths.bytes[i], size);
  if (is_collective(&plan)) collective_end();
  buffers_free();
}
