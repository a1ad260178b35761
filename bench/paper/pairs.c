/* Bandwidth of all pairs at once, each from rank i to rank i + P/2: windows of 64 messages, each with its own
 * buffers, and one empty message that confirms the arrival of all (hybrid-kernel-user-2008, section 3.1).
 * Every window uses the same 64 buffers, rewritten before it (section 3.2), or buffers that were not used
 * recently: these advance through a region that exceeds every cache. Rewriting and checking are neither timed
 * nor counted by the processor's counters. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "../driver/driver.h"
#include "../settings.h"
#include "paper.h"

enum { block_bytes = 1 << 20 };

struct plan {
  struct ways ways;
  size_t bytes;
  int slots;       /* of the region */
  int next_window; /* in the region, by windows */
  int windows;     /* per block */
  int leads, partner, counted;
};

static size_t window_bytes_of(size_t bytes) {
  return buffers_needed(bytes, window_max);
}

static void start_window(const struct plan* plan, int first, MPI_Request* requests) {
  int i;
  for (i = 0; i < window_max; ++i) {
    if (plan->leads) {
      MPI_Isend(send_slot(plan->bytes, first + i), (int)plan->bytes, MPI_BYTE, plan->partner, tag_data,
                MPI_COMM_WORLD, &requests[i]);
    } else {
      MPI_Irecv(receive_slot(plan->bytes, first + i), (int)plan->bytes, MPI_BYTE, plan->partner, tag_data,
                MPI_COMM_WORLD, &requests[i]);
    }
  }
}

static void fill_window(const struct plan* plan, int first, uint64_t seed) {
  int i;
  for (i = 0; i < window_max && plan->leads; ++i)
    fill(send_slot(plan->bytes, first + i), plan->bytes, seed + (uint64_t)i);
}

static void check_window(const struct plan* plan, int first, uint64_t seed) {
  int i;
  for (i = 0; i < window_max && !plan->leads; ++i)
    check(receive_slot(plan->bytes, first + i), plan->bytes, seed + (uint64_t)i);
}

static void add_difference(struct misses* sum, const struct misses* before, const struct misses* after) {
  sum->first_level += after->first_level - before->first_level;
  sum->last_level += after->last_level - before->last_level;
}

/* Nanoseconds of one window, on the rank that leads. */
static double window(const struct plan* plan, int first, struct misses* sum) {
  MPI_Request requests[window_max];
  struct misses before, after;
  double begin, ns;
  if (!plan->leads) MPI_Send(NULL, 0, MPI_BYTE, plan->partner, tag_ready, MPI_COMM_WORLD);
  if (plan->leads) MPI_Recv(NULL, 0, MPI_BYTE, plan->partner, tag_ready, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (plan->counted) counters_read(&before);
  begin = now_ns();
  start_window(plan, first, requests);
  MPI_Waitall(window_max, requests, MPI_STATUSES_IGNORE);
  if (plan->leads) {
    MPI_Recv(NULL, 0, MPI_BYTE, plan->partner, tag_done, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Send(NULL, 0, MPI_BYTE, plan->partner, tag_done, MPI_COMM_WORLD);
  }
  ns = now_ns() - begin;
  if (plan->counted) {
    counters_read(&after);
    add_difference(sum, &before, &after);
  }
  return ns;
}

/* Slots of a region are filled once with the numbers of their places. With reused buffers, window 0 brings
 * them into the caches and is not timed. */
static double block(struct plan* plan, const struct way* way, int reuse, struct misses* sum) {
  const int windows_of_region = plan->slots / window_max;
  double timed = 0;
  int i;
  settings_apply(way->settings);
  MPI_Barrier(MPI_COMM_WORLD);
  for (i = 0; i <= plan->windows; ++i) {
    const int first = reuse ? 0 : window_max * (plan->next_window++ % windows_of_region);
    const uint64_t seed = (uint64_t)(reuse ? window_max * i : first);
    struct misses untold = {0, 0};
    double ns;
    if (reuse) fill_window(plan, first, seed);
    ns = window(plan, first, i == 0 ? &untold : sum);
    if (i > 0) timed += ns;
    check_window(plan, first, seed);
  }
  /* Restores the contents of the region's first window. */
  if (reuse) fill_window(plan, 0, 0);
  return timed / window_max / plan->windows;
}

static void report(const struct plan* plan, const struct way* way, int reuse, double ns,
                   const struct misses* sum, int rank) {
  const int messages = window_max * plan->windows;
  char series[128];
  ns = slowest_of(plan->leads ? ns : 0);
  snprintf(series, sizeof series, "%s/%s", way->name, reuse ? "reuse" : "fresh");
  if (rank == 0) print_value(series, (double)plan->bytes, ns);
  if (plan->counted) {
    double mine[2] = {sum->first_level / messages, sum->last_level / messages}, all[2];
    MPI_Reduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank != 0 || !reuse) return;
    snprintf(series, sizeof series, "%s/first_level", way->name);
    print_value(series, (double)plan->bytes, all[0]);
    snprintf(series, sizeof series, "%s/last_level", way->name);
    print_value(series, (double)plan->bytes, all[1]);
  }
}

static void measure_length(struct plan* plan, size_t region_bytes, int rounds, int rank, int size) {
  int round, i, reuse, first;
  plan->slots = window_max * (int)(region_bytes / window_bytes_of(plan->bytes));
  if (plan->slots == 0) plan->slots = window_max;
  plan->windows = 1 + (int)(block_bytes / (plan->bytes * window_max));
  plan->next_window = 0;
  for (first = 0; first < plan->slots; first += window_max) fill_window(plan, first, (uint64_t)first);
  for (round = 0; round < rounds; ++round) {
    for (i = 0; i < plan->ways.count; ++i) {
      const struct way* way = &plan->ways.way[way_in_turn(round, i, plan->ways.count)];
      for (reuse = 0; reuse < 2; ++reuse) {
        struct misses sum = {0, 0};
        const double ns = block(plan, way, reuse, &sum);
        report(plan, way, reuse, ns, &sum, rank);
      }
    }
  }
  print_floor(rank, size);
}

static void begin_pairs(struct plan* plan, int rank, int size) {
  if (size % 2 != 0) stop("needs an even number of ranks for", "pairs");
  plan->leads = rank < size / 2;
  plan->partner = plan->leads ? rank + size / 2 : rank - size / 2;
}

static void begin_counting(struct plan* plan, int rank) {
  const char* why = "";
  int kernel = 0, mine, all;
  mine = counters_open(&why, &kernel);
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  plan->counted = all;
  if (rank != 0) return;
  if (!all) printf("note no counters: %s\n", why);
  if (all && !kernel)
    printf("note the kernel's own cache misses are not counted: this user may not see them\n");
}

void mode_pairs(int count, char** words, int rank, int size) {
  struct plan plan;
  struct lengths lengths;
  size_t region_bytes, most = 0;
  int i, rounds;
  if (count < 6) stop("too few words for", "pairs");
  memset(&plan, 0, sizeof plan);
  begin_pairs(&plan, rank, size);
  lengths_of(words[0], &lengths);
  rounds = (int)number_of(words[2], 1, 10000);
  region_bytes = number_of(words[3], 1, 1ul << 34);
  ways_of(count - 5, words + 5, &plan.ways);
  if (strcmp(words[4], "counters") == 0) begin_counting(&plan, rank);
  for (i = 0; i < lengths.count; ++i) {
    if (window_bytes_of(lengths.bytes[i]) > most) most = window_bytes_of(lengths.bytes[i]);
  }
  buffers_make(strcmp(words[1], "mpi") == 0, region_bytes > most ? region_bytes : most, 0, 0);
  for (i = 0; i < lengths.count; ++i) {
    plan.bytes = lengths.bytes[i];
    measure_length(&plan, region_bytes, rounds, rank, size);
  }
  buffers_free();
}

/* A fixed number of windows of the same 64 buffers, for a cache simulator that counts from the start of the
 * program to its end. The difference between two numbers of windows is the cost of the additional windows. */
void mode_counted(int count, char** words, int rank, int size) {
  struct plan plan;
  int windows, i;
  (void)rank;
  if (count != 4) stop("needs four words:", "counted");
  memset(&plan, 0, sizeof plan);
  begin_pairs(&plan, rank, size);
  plan.bytes = number_of(words[0], 1, 1ul << 24);
  windows = (int)number_of(words[2], 1, 100000);
  ways_of(1, words + 3, &plan.ways);
  settings_apply(plan.ways.way[0].settings);
  buffers_make(strcmp(words[1], "mpi") == 0, window_bytes_of(plan.bytes), 0, 0);
  for (i = 0; i < windows; ++i) {
    fill_window(&plan, 0, (uint64_t)(window_max * i));
    window(&plan, 0, NULL);
    check_window(&plan, 0, (uint64_t)(window_max * i));
  }
  buffers_free();
}
