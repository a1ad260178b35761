/* The time of a collective: from when the first rank enters it until the last one leaves. Roots rotate, and
 * scans alternate their direction, so that no rank runs ahead for long. Every rank rewrites its input before
 * each operation and checks its whole result after it. Neither is counted:
 *
 *   short data  operations follow each other. The cost of rewriting and checking is measured alone and
 *               subtracted: once if every rank has a processor, otherwise the work of all ranks divided
 *               by the processors
 *   long data   the ranks synchronize before and after each operation (together.c) and read the clock in
 *               between
 *
 * `bytes` is the length of the data from one rank to one other; numbers are doubles, which are summed. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

enum { stamped_bytes_min = 4096, calibration_rounds = 200, calibration_attempts = 5 };

static MPI_Comm backwards = MPI_COMM_NULL; /* all ranks in reverse order */
static int own_rank, ranks;
static int *counts, *places; /* of equal blocks, for the forms with arrays */

static int is_reduction(enum collective which) {
  return which >= collective_reduce;
}

static int has_root(enum collective which) {
  return which == collective_bcast || which == collective_reduce ||
         (which >= collective_gather && which <= collective_scatterv);
}

/* Bytes of one area for one operation. */
size_t collective_area_bytes(enum collective which, size_t bytes, int size) {
  const int many = which >= collective_gather && which != collective_allreduce &&
                   which != collective_reduce && which != collective_scan && which != collective_exscan;
  return many ? bytes * (size_t)size : bytes;
}

/* The bytes that a rank rewrites before and checks after an operation. */
static void work_of(const struct run* run, int is_root, size_t* filled, size_t* checked) {
  const size_t one = run->bytes, all = run->bytes * (size_t)run->ranks;
  *filled = *checked = one;
  switch (run->what->collective) {
    case collective_barrier:
      *filled = *checked = 0;
      break;
    case collective_bcast:
      *filled = is_root ? one : 0;
      *checked = is_root ? 0 : one;
      break;
    case collective_gather:
    case collective_gatherv:
      *checked = is_root ? all : 0;
      break;
    case collective_scatter:
    case collective_scatterv:
      *filled = is_root ? all : 0;
      break;
    case collective_allgather:
    case collective_allgatherv:
      *checked = all;
      break;
    case collective_alltoall:
    case collective_alltoallv:
      *filled = *checked = all;
      break;
    case collective_reduce:
      *checked = is_root ? one : 0;
      break;
    case collective_reduce_scatter_block:
      *filled = all;
      break;
    default:
      break;
  }
}

/* Operation i's number at a place, without the rank that is added to it. All sums are integers, so no order
 * of addition rounds. */
static double base_number(uint64_t i, size_t place) {
  return (double)((i * 31 + place) & 1023);
}

static void fill_numbers(unsigned char* to, size_t bytes, uint64_t i, int rank) {
  double* numbers = (double*)to;
  size_t place;
  for (place = 0; place < bytes / sizeof *numbers; ++place) numbers[place] = base_number(i, place) + rank;
  __asm__ volatile("" : : "r"(to) : "memory");
}

/* Checks the sum over ranks first to last, at places from `begin` on. */
static void check_numbers(const unsigned char* from, size_t bytes, uint64_t i, size_t begin, int first,
                          int last) {
  const double* numbers = (const double*)from;
  const double factor = last - first + 1, term = factor * (first + last) / 2;
  double wrong = 0;
  size_t place;
  __asm__ volatile("" : : "r"(from) : "memory");
  for (place = 0; place < bytes / sizeof *numbers; ++place) {
    const double difference = numbers[place] - (factor * base_number(i, begin + place) + term);
    wrong += difference * difference;
  }
  if (wrong != 0) {
    fprintf(stderr, "bench_driver: wrong result in reduction %llu of %zu bytes on rank %d\n",
            (unsigned long long)i, bytes, own_rank);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
}

static uint64_t seed_of(const struct run* run, uint64_t i, int from, int to) {
  const uint64_t size = (uint64_t)run->ranks;
  return (i * size + (uint64_t)from) * size + (uint64_t)to;
}

static void prepare(const struct run* run, uint64_t i, unsigned char* out) {
  const int root = (int)(i % (uint64_t)run->ranks);
  const enum collective which = run->what->collective;
  size_t filled, checked, block;
  int all, from;
  work_of(run, own_rank == root, &filled, &checked);
  if (is_reduction(which)) {
    fill_numbers(out, filled, i, own_rank);
    return;
  }
  all = filled > run->bytes;
  from = all && has_root(which) ? root : own_rank;
  for (block = 0; block * run->bytes < filled; ++block)
    fill(out + block * run->bytes, run->bytes, seed_of(run, i, from, all ? (int)block : 0));
}

static void verify(const struct run* run, uint64_t i, const unsigned char* in) {
  const int root = (int)(i % (uint64_t)run->ranks), last = run->ranks - 1;
  const size_t numbers = run->bytes / sizeof(double);
  size_t filled, checked, block;
  work_of(run, own_rank == root, &filled, &checked);
  switch (run->what->collective) {
    case collective_none:
    case collective_barrier:
      break;
    case collective_bcast:
      if (checked > 0) check(in, checked, seed_of(run, i, root, 0));
      break;
    case collective_scatter:
    case collective_scatterv:
      check(in, checked, seed_of(run, i, root, own_rank));
      break;
    case collective_gather:
    case collective_gatherv:
    case collective_allgather:
    case collective_allgatherv:
      for (block = 0; block * run->bytes < checked; ++block)
        check(in + block * run->bytes, run->bytes, seed_of(run, i, (int)block, 0));
      break;
    case collective_alltoall:
    case collective_alltoallv:
      for (block = 0; block * run->bytes < checked; ++block)
        check(in + block * run->bytes, run->bytes, seed_of(run, i, (int)block, own_rank));
      break;
    case collective_reduce:
    case collective_allreduce:
      check_numbers(in, checked, i, 0, 0, last);
      break;
    case collective_reduce_scatter_block:
      check_numbers(in, checked, i, (size_t)own_rank * numbers, 0, last);
      break;
    case collective_scan:
      check_numbers(in, checked, i, 0, i % 2 == 0 ? 0 : own_rank, i % 2 == 0 ? own_rank : last);
      break;
    case collective_exscan:
      if (own_rank != (i % 2 == 0 ? 0 : last))
        check_numbers(in, checked, i, 0, i % 2 == 0 ? 0 : own_rank + 1, i % 2 == 0 ? own_rank - 1 : last);
      break;
  }
}

static void perform(const struct run* run, uint64_t i, unsigned char* out, unsigned char* in) {
  const MPI_Comm world = MPI_COMM_WORLD, direction = i % 2 == 0 ? MPI_COMM_WORLD : backwards;
  const int root = (int)(i % (uint64_t)run->ranks), n = (int)run->bytes, numbers = n / (int)sizeof(double);
  switch (run->what->collective) {
    case collective_none:
      break;
    case collective_barrier:
      MPI_Barrier(world);
      break;
    case collective_bcast:
      MPI_Bcast(own_rank == root ? out : in, n, MPI_BYTE, root, world);
      break;
    case collective_gather:
      MPI_Gather(out, n, MPI_BYTE, in, n, MPI_BYTE, root, world);
      break;
    case collective_gatherv:
      MPI_Gatherv(out, n, MPI_BYTE, in, counts, places, MPI_BYTE, root, world);
      break;
    case collective_scatter:
      MPI_Scatter(out, n, MPI_BYTE, in, n, MPI_BYTE, root, world);
      break;
    case collective_scatterv:
      MPI_Scatterv(out, counts, places, MPI_BYTE, in, n, MPI_BYTE, root, world);
      break;
    case collective_allgather:
      MPI_Allgather(out, n, MPI_BYTE, in, n, MPI_BYTE, world);
      break;
    case collective_allgatherv:
      MPI_Allgatherv(out, n, MPI_BYTE, in, counts, places, MPI_BYTE, world);
      break;
    case collective_alltoall:
      MPI_Alltoall(out, n, MPI_BYTE, in, n, MPI_BYTE, world);
      break;
    case collective_alltoallv:
      MPI_Alltoallv(out, counts, places, MPI_BYTE, in, counts, places, MPI_BYTE, world);
      break;
    case collective_reduce:
      MPI_Reduce(out, in, numbers, MPI_DOUBLE, MPI_SUM, root, world);
      break;
    case collective_allreduce:
      MPI_Allreduce(out, in, numbers, MPI_DOUBLE, MPI_SUM, world);
      break;
    case collective_reduce_scatter_block:
      MPI_Reduce_scatter_block(out, in, numbers, MPI_DOUBLE, MPI_SUM, world);
      break;
    case collective_scan:
      MPI_Scan(out, in, numbers, MPI_DOUBLE, MPI_SUM, direction);
      break;
    case collective_exscan:
      MPI_Exscan(out, in, numbers, MPI_DOUBLE, MPI_SUM, direction);
      break;
  }
}

/* The time for rewriting and checking these bytes on one rank. */
static double work_cost_ns(const struct run* run, unsigned char* area, size_t filled, size_t checked) {
  const int numbers = is_reduction(run->what->collective);
  double best = 0;
  int attempt, i;
  if (filled + checked == 0) return 0;
  for (attempt = 0; attempt < calibration_attempts; ++attempt) {
    const double begin = now_ns();
    double cost;
    for (i = 0; i < calibration_rounds; ++i) {
      if (numbers) {
        fill_numbers(area, filled, 1, 0);
        check_numbers(area, filled < checked ? filled : checked, 1, 0, 0, 0);
      } else {
        size_t at;
        for (at = 0; at < filled; at += run->bytes) fill(area + at, run->bytes, 1);
        for (at = 0; at < checked; at += run->bytes) check(area + at, run->bytes, 1);
      }
    }
    cost = (now_ns() - begin) / calibration_rounds;
    if (attempt == 0 || cost < best) best = cost;
  }
  return best;
}

static int is_stamped(const struct run* run) {
  return collective_area_bytes(run->what->collective, run->bytes, run->ranks) >= stamped_bytes_min;
}

double collective_work_cost_ns(const struct run* run) {
  const int processors = processors_usable();
  unsigned char* area = send_slot(run->bytes, 0);
  size_t root_fills, root_checks, other_fills, other_checks, at;
  if (is_stamped(run)) return 0;
  work_of(run, 1, &root_fills, &root_checks);
  work_of(run, 0, &other_fills, &other_checks);
  /* Data that are checked without having been rewritten must be valid too. */
  for (at = 0; at < collective_area_bytes(run->what->collective, run->bytes, run->ranks); at += run->bytes)
    fill(area + at, run->bytes, 1);
  if (run->ranks <= processors) {
    return work_cost_ns(run, area, root_fills > other_fills ? root_fills : other_fills,
                        root_checks > other_checks ? root_checks : other_checks);
  }
  return (work_cost_ns(run, area, root_fills, root_checks) +
          (run->ranks - 1) * work_cost_ns(run, area, other_fills, other_checks)) /
         processors;
}

static void set_up(const struct run* run) {
  int rank;
  ranks = run->ranks;
  counts = realloc(counts, sizeof *counts * (size_t)ranks);
  places = realloc(places, sizeof *places * (size_t)ranks);
  for (rank = 0; rank < ranks; ++rank) {
    counts[rank] = (int)run->bytes;
    places[rank] = rank * (int)run->bytes;
  }
  if (backwards != MPI_COMM_NULL) return;
  MPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -own_rank, &backwards);
}

static double one_after_another(const struct run* run, int iterations, unsigned char* out,
                                unsigned char* in) {
  double begin;
  uint64_t i;
  prepare(run, 0, out);
  perform(run, 0, out, in);
  verify(run, 0, in);
  together_wait();
  begin = now_ns();
  for (i = 1; i <= (uint64_t)iterations; ++i) {
    prepare(run, i, out);
    perform(run, i, out, in);
    verify(run, i, in);
  }
  together_note(begin, now_ns());
  together_wait();
  return together_elapsed_ns() / iterations - run->fill_and_check_ns;
}

static double one_by_one(const struct run* run, int iterations, unsigned char* out, unsigned char* in) {
  double sum = 0;
  uint64_t i;
  for (i = 0; i <= (uint64_t)iterations; ++i) {
    double begin;
    prepare(run, i, out);
    together_wait();
    begin = now_ns();
    perform(run, i, out, in);
    together_note(begin, now_ns());
    together_wait();
    if (i > 0) sum += together_elapsed_ns() - clock_cost_ns();
    verify(run, i, in);
  }
  return sum / iterations;
}

double run_collective(const struct run* run, int leads, int partner, int iterations) {
  unsigned char* out = send_slot(run->bytes, 0);
  unsigned char* in = receive_slot(run->bytes, 0);
  double elapsed;
  (void)partner;
  set_up(run);
  clock_cost_ns(); /* measures the clock on the first call */
  elapsed =
      is_stamped(run) ? one_by_one(run, iterations, out, in) : one_after_another(run, iterations, out, in);
  return leads ? elapsed : 0;
}

void collective_end(void) {
  if (backwards != MPI_COMM_NULL) MPI_Comm_free(&backwards);
  free(counts);
  free(places);
}
