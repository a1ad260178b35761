/* How a run is measured: rank 0 commands batches until the time is used up, and the other ranks execute them.
 * Ranks that take no part wait inside one MPI_Recv, as idle ranks of a program do. */
#define _GNU_SOURCE 1
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "driver.h"

enum { command_stop = 0, command_floor = -1 }; /* positive: a batch of this number of iterations */
enum { batches_max = 4096, batches_min = 7, iterations_max = 100000 };
static const double batch_ns_min = 2e5;

double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

int processors_usable(void) {
  cpu_set_t set;
  int count = 0, processor;
  const long all = sysconf(_SC_NPROCESSORS_ONLN);
  /* A rank may be bound to one of the job's processors. */
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (processor = 0; processor < CPU_SETSIZE; ++processor) count += CPU_ISSET(processor, &set) != 0;
  }
  return count > all || count <= 1 ? (int)all : count;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

double median_of(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, ascending);
  return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

double clock_cost_ns(void) {
  static double cost = -1;
  if (cost < 0) {
    double samples[15];
    int sample, i;
    for (sample = 0; sample < 15; ++sample) {
      const double begin = now_ns();
      for (i = 0; i < 1000; ++i) now_ns();
      samples[sample] = (now_ns() - begin) / 1000;
    }
    cost = median_of(samples, 15);
  }
  return cost;
}

static long involuntary_switches(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

static int is_collective(const struct run* run) {
  return run->what->collective != collective_none;
}

static int participants(const struct run* run) {
  return is_collective(run) ? run->ranks : 2 * run->pairs;
}

/* Sends a command to every participating rank. */
static void command(const struct run* run, int what) {
  int rank;
  for (rank = 1; rank < participants(run); ++rank)
    MPI_Send(&what, 1, MPI_INT, rank, tag_command, MPI_COMM_WORLD);
}

/* Always between ranks 0 and 1, which take part in every case. If the ranks of a collective share processors,
 * the floor is meaningless. */
static double floor_between_ns(const struct run* run) {
  const int what = command_floor;
  if (is_collective(run) && run->ranks > processors_usable()) return 0;
  MPI_Send(&what, 1, MPI_INT, 1, tag_command, MPI_COMM_WORLD);
  return floor_one_way_ns(1);
}

/* The slowest pair's time per message. */
static double batch_of(const struct run* run, int iterations) {
  double slowest;
  int pair;
  command(run, iterations);
  slowest = run->what->run(run, 1, run->pairs, iterations);
  for (pair = 1; pair < run->pairs && !is_collective(run); ++pair) {
    double theirs = 0;
    MPI_Recv(&theirs, 1, MPI_DOUBLE, pair, tag_report, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (theirs > slowest) slowest = theirs;
  }
  return slowest;
}

/* The shorter wall time of two batches, including the work that the measurement subtracts. */
static double quicker_of_two_ns(const struct run* run, int iterations) {
  const double begin = now_ns();
  double middle, end;
  batch_of(run, iterations);
  middle = now_ns();
  batch_of(run, iterations);
  end = now_ns();
  return middle - begin < end - middle ? middle - begin : end - middle;
}

static void lead(struct run* run, double budget_ms, int size, struct result* result) {
  static double values[batches_max];
  const long switches = involuntary_switches();
  /* If ranks share processors, longer batches average over the order in which the ranks are scheduled. */
  const double enough_ns =
      is_collective(run) && run->ranks > processors_usable() ? 10 * batch_ns_min : batch_ns_min;
  double deadline;
  int count = 0, iterations = 1, rank;
  result->floor_before_ns = floor_between_ns(run);
  /* Batches grow until one is long enough for the clock, even without disturbance. These batches warm up and
   * do not count. The first batch opens the connection. */
  batch_of(run, 1);
  while (quicker_of_two_ns(run, iterations) < enough_ns && iterations < iterations_max) iterations *= 2;
  deadline = now_ns() + 1e6 * budget_ms;
  while (count < batches_max && (count < batches_min || now_ns() < deadline)) {
    values[count++] = batch_of(run, iterations);
  }
  result->floor_after_ns = floor_between_ns(run);
  result->involuntary_switches = involuntary_switches() - switches;
  command(run, command_stop);
  for (rank = participants(run); rank < size; ++rank) {
    MPI_Send(NULL, 0, MPI_BYTE, rank, tag_idle, MPI_COMM_WORLD);
  }
  result->median_ns = median_of(values, count);
  result->p10_ns = values[count / 10];
  result->p99_ns = values[(count - 1) * 99 / 100];
  result->min_ns = values[0];
  result->batches = count;
  result->iterations = iterations;
}

static void follow(const struct run* run, int leads, int partner) {
  for (;;) {
    int what = command_stop;
    MPI_Recv(&what, 1, MPI_INT, 0, tag_command, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (what == command_stop) return;
    if (what == command_floor) {
      floor_one_way_ns(0);
    } else {
      double value = run->what->run(run, leads, partner, what);
      if (leads && !is_collective(run)) MPI_Send(&value, 1, MPI_DOUBLE, 0, tag_report, MPI_COMM_WORLD);
    }
  }
}

void measure(struct run* run, double budget_ms, int rank, int size, struct result* result) {
  /* For a collective, rank 0 subtracts it for all ranks. */
  run->fill_and_check_ns = !is_collective(run) ? fill_and_check_cost_ns(run)
                           : rank == 0         ? collective_work_cost_ns(run)
                                               : 0;
  if (rank == 0) {
    lead(run, budget_ms, size, result);
  } else if (is_collective(run)) {
    follow(run, 0, 0);
  } else if (rank < run->pairs) {
    follow(run, 1, rank + run->pairs);
  } else if (rank < 2 * run->pairs) {
    follow(run, 0, rank - run->pairs);
  } else {
    MPI_Recv(NULL, 0, MPI_BYTE, 0, tag_idle, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}
