/* One process reads and writes the memory of another, which waits for a message meanwhile.
 *
 * The window comes from MPI_Win_allocate, and except for lock_put one epoch of MPI_Win_lock_all spans all.
 * The origin rewrites its data before each put and compares the data after each get; the target compares the
 * data of the last put at the end of each batch. For short data that work is part of the loop's time, and its
 * cost is measured alone and subtracted; for long data only the calls are timed. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"

enum { short_bytes_max = 4096 };

static MPI_Win win = MPI_WIN_NULL;
static MPI_Comm pair = MPI_COMM_NULL;
static unsigned char* window;
static size_t window_bytes;
static int target;

void one_sided_end(void) {
  if (win == MPI_WIN_NULL) return;
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  MPI_Comm_free(&pair);
}

/* For this length; called on both ranks. */
static void make_window(size_t bytes, int leads, int partner) {
  int rank, ranks[2];
  MPI_Group world, both;
  if (win != MPI_WIN_NULL && window_bytes == bytes) return;
  one_sided_end();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  ranks[0] = leads ? rank : partner;
  ranks[1] = leads ? partner : rank;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 2, ranks, &both);
  MPI_Comm_create_group(MPI_COMM_WORLD, both, 0, &pair);
  MPI_Group_free(&both);
  MPI_Group_free(&world);
  MPI_Win_allocate((MPI_Aint)(bytes < 8 ? 8 : bytes), 1, MPI_INFO_NULL, pair, &window, &win);
  memset(window, 0, bytes < 8 ? 8 : bytes);
  window_bytes = bytes;
  target = 1;
  MPI_Win_lock_all(0, win);
  MPI_Barrier(pair);
}

static void put(const struct run* run) {
  MPI_Put(send_slot(run->bytes, 0), (int)run->bytes, MPI_BYTE, target, 0, (int)run->bytes, MPI_BYTE, win);
  MPI_Win_flush(target, win);
}

static void get(const struct run* run) {
  MPI_Get(receive_slot(run->bytes, 0), (int)run->bytes, MPI_BYTE, target, 0, (int)run->bytes, MPI_BYTE, win);
  MPI_Win_flush(target, win);
}

static void lock_put(const struct run* run) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
  MPI_Put(send_slot(run->bytes, 0), (int)run->bytes, MPI_BYTE, target, 0, (int)run->bytes, MPI_BYTE, win);
  MPI_Win_unlock(target, win);
}

/* Nanoseconds of one call. Includes the work on the data if the data are short. */
static double time_calls(const struct run* run, int iterations, int puts, void (*call)(const struct run*)) {
  const int timed_apart = run->bytes > short_bytes_max;
  double calls_ns = 0;
  const double begin = now_ns();
  int i;
  for (i = 0; i < iterations; ++i) {
    double before = 0;
    if (puts) fill(send_slot(run->bytes, 0), run->bytes, (uint64_t)i);
    if (timed_apart) before = now_ns();
    if (call != NULL) call(run);
    if (timed_apart) calls_ns += now_ns() - before - clock_cost_ns();
    if (!puts) check(receive_slot(run->bytes, 0), run->bytes, 0);
  }
  return (timed_apart ? calls_ns : now_ns() - begin) / iterations;
}

/* Makes the stores of this process and of others visible: within the epoch, or in an epoch of its own. */
static void see_own(void (*call)(const struct run*)) {
  if (call != lock_put) {
    MPI_Win_sync(win);
    return;
  }
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
  MPI_Win_unlock(target, win);
}

static double exchange_data(const struct run* run, int leads, int partner, int iterations, int puts,
                            void (*call)(const struct run*)) {
  double with_calls, without;
  make_window(run->bytes, leads, partner);
  if (!leads) {
    if (!puts) fill(window, run->bytes, 0);
    see_own(call);
    MPI_Send(NULL, 0, MPI_BYTE, partner, tag_ready, MPI_COMM_WORLD);
    MPI_Recv(NULL, 0, MPI_BYTE, partner, tag_done, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    see_own(call);
    if (puts) check(window, run->bytes, (uint64_t)(iterations - 1));
    return 0;
  }
  MPI_Recv(NULL, 0, MPI_BYTE, partner, tag_ready, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  with_calls = time_calls(run, iterations, puts, call);
  without = run->bytes > short_bytes_max ? 0 : time_calls(run, iterations, puts, NULL);
  MPI_Send(NULL, 0, MPI_BYTE, partner, tag_done, MPI_COMM_WORLD);
  return with_calls > without ? with_calls - without : 0;
}

double one_sided_put(const struct run* run, int leads, int partner, int iterations) {
  return exchange_data(run, leads, partner, iterations, 1, put);
}

double one_sided_get(const struct run* run, int leads, int partner, int iterations) {
  return exchange_data(run, leads, partner, iterations, 0, get);
}

/* Each put has an epoch of its own. */
double one_sided_lock_put(const struct run* run, int leads, int partner, int iterations) {
  double time;
  make_window(run->bytes, leads, partner);
  MPI_Win_unlock_all(win);
  MPI_Barrier(pair);
  time = exchange_data(run, leads, partner, iterations, 1, lock_put);
  MPI_Barrier(pair);
  MPI_Win_lock_all(0, win);
  return time;
}

/* A counter of eight bytes. */
double one_sided_fetch_and_op(const struct run* run, int leads, int partner, int iterations) {
  int64_t one = 1, before = 0, first = 0;
  double begin, time;
  int i;
  (void)run;
  make_window(run->bytes, leads, partner);
  if (!leads) {
    MPI_Recv(NULL, 0, MPI_BYTE, partner, tag_done, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
  }
  begin = now_ns();
  for (i = 0; i < iterations; ++i) {
    MPI_Fetch_and_op(&one, &before, MPI_INT64_T, target, 0, MPI_SUM, win);
    MPI_Win_flush(target, win);
    if (i == 0) first = before;
  }
  time = (now_ns() - begin) / iterations;
  if (before - first != iterations - 1) {
    fprintf(stderr, "bench_driver: the counter went on by %lld, not %d\n", (long long)(before - first),
            iterations - 1);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Send(NULL, 0, MPI_BYTE, partner, tag_done, MPI_COMM_WORLD);
  return time;
}

/* A fence on both ranks for each put. */
double one_sided_fence(const struct run* run, int leads, int partner, int iterations) {
  double begin, time;
  int i;
  make_window(run->bytes, leads, partner);
  MPI_Win_unlock_all(win);
  MPI_Win_fence(0, win);
  begin = now_ns();
  for (i = 0; i < iterations; ++i) {
    if (leads) {
      MPI_Put(send_slot(run->bytes, 0), (int)run->bytes, MPI_BYTE, target, 0, (int)run->bytes, MPI_BYTE, win);
    }
    MPI_Win_fence(0, win);
  }
  time = (now_ns() - begin) / iterations;
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  MPI_Win_lock_all(0, win);
  return time;
}
