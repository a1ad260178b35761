/* The benchmark driver: one program in plain C that any MPI library of version 3.1 or later can compile and
 * run. `hearth bench` runs it under Hearth, `bench/compare` under several libraries in turn.
 *
 * The method (docs/performance.md describes it too):
 *   - The sender rewrites its whole buffer before each message, the receiver reads and compares every byte.
 *     Neither is counted: the ping-pong subtracts that time, the streams do it between the windows.
 *   - Batches of some 200 us are timed; reported are median, 10th and 99th percentile and minimum of batches.
 *   - Before and after each measurement the two processes bounce one cache line without MPI (floor.c), so
 *     that results from different states of a virtual machine are not compared with each other.
 *
 * Every process runs one thread. Rank 0 leads: it decides the length of each batch and prints the results. */
#ifndef HEARTH_BENCH_DRIVER_H
#define HEARTH_BENCH_DRIVER_H

#include <stddef.h>
#include <stdint.h>

enum { tag_command = 1, tag_report, tag_ready, tag_done, tag_idle, tag_data };
enum { line_bytes = 64, page_bytes = 4096, window_max = 64 };

/* Reductions and all later collectives have numbers as data, the earlier ones bytes. */
enum collective {
  collective_none,
  collective_barrier,
  collective_bcast,
  collective_gather,
  collective_gatherv,
  collective_scatter,
  collective_scatterv,
  collective_allgather,
  collective_allgatherv,
  collective_alltoall,
  collective_alltoallv,
  collective_reduce,
  collective_allreduce,
  collective_reduce_scatter_block,
  collective_scan,
  collective_exscan
};

/* One measurement: a case at one message length. The same on every rank. */
struct run {
  const struct bench_case* what;
  size_t bytes;
  int window;               /* messages in flight, or depth of the unexpected queue */
  int pairs;                /* ranks i and i + pairs exchange, for i < pairs; the ranks beyond stay idle */
  int ranks;                /* of the job */
  double fill_and_check_ns; /* fill_and_check_cost_ns() of this rank, or collective_work_cost_ns() */
};

/* Runs `iterations` rounds. Called on both ranks of every pair; returns nanoseconds per message on the rank
 * that leads the pair (the lower one), any value on the other. A collective's is called on all ranks, and
 * rank 0 leads. */
typedef double (*exchange)(const struct run* run, int leads, int partner, int iterations);

struct bench_case {
  const char* name;
  exchange run;
  int (*window)(size_t bytes); /* how many messages of that length are in flight */
  int all_pairs;               /* every rank takes part; otherwise ranks 0 and 1 */
  const char* what;            /* for the help text */
  size_t gap_factor;           /* bytes of memory per byte of a message; 0: no gaps */
  size_t block_bytes;          /* of a vector; 0: structures */
  enum collective collective;
};

double pingpong(const struct run* run, int leads, int partner, int iterations);
double pingpong_derived(const struct run* run, int leads, int partner, int iterations);
double stream_one_way(const struct run* run, int leads, int partner, int iterations);
double stream_both_ways(const struct run* run, int leads, int partner, int iterations);
/* The messages that fit into 2 MiB, so that the library is measured and not the memory behind the caches. */
int window_by_volume(size_t bytes);
double receive_unexpected(const struct run* run, int leads, int partner, int iterations);
/* fresh.c: fill, exchange and check, with buffers that are allocated and freed each time, or with permanent
 * ones. */
double exchange_fresh(const struct run* run, int leads, int partner, int iterations);
double exchange_kept(const struct run* run, int leads, int partner, int iterations);

/* one_sided.c: time of one call and its flush, or its epoch. end: on all ranks, before MPI_Finalize. */
double one_sided_put(const struct run* run, int leads, int partner, int iterations);
double one_sided_get(const struct run* run, int leads, int partner, int iterations);
double one_sided_lock_put(const struct run* run, int leads, int partner, int iterations);
double one_sided_fetch_and_op(const struct run* run, int leads, int partner, int iterations);
double one_sided_fence(const struct run* run, int leads, int partner, int iterations);
void one_sided_end(void);

double run_collective(const struct run* run, int leads, int partner, int iterations);

/* The time for rewriting and checking one short message on this rank; 0 for long ones, which are timed
 * differently. */
double fill_and_check_cost_ns(const struct run* run);

/* Nanoseconds of a monotonic clock, and the cost of reading it once. */
double now_ns(void);
double clock_cost_ns(void);
/* The number of processors of the job. */
int processors_usable(void);
/* Sorts the values. */
double median_of(double* values, int count);

/* measure.c: the result of one run, which rank 0 prints. */
struct result {
  double median_ns, p10_ns, p99_ns, min_ns;
  int batches, iterations;
  double floor_before_ns, floor_after_ns; /* one way; 0 if it could not be measured */
  long involuntary_switches;              /* of rank 0 */
};
void measure(struct run* run, double budget_ms, int rank, int size, struct result* result);

/* collective.c: the time that rewriting and checking adds to one collective; 0 if it is not included. */
double collective_work_cost_ns(const struct run* run);
/* Bytes that one operation needs in either area. */
size_t collective_area_bytes(enum collective which, size_t bytes, int size);
void collective_end(void);

/* together.c: synchronization of all ranks, without MPI if they are on one machine. make: called on all; the
 * job ends if ranks of one machine cannot share memory. */
void together_make(int rank, int size, int machines);
void together_wait(void);
/* Stores this rank's times; after together_wait(), together_elapsed_ns() is the time from the first begin to
 * the last end. */
void together_note(double begin_ns, double end_ns);
double together_elapsed_ns(void);

/* buffer.c: the two areas of each rank and their contents. */
void buffers_make(int from_mpi, size_t bytes, size_t send_offset, size_t receive_offset);
void buffers_free(void);
/* Bytes of one area for `slots` messages of that length. */
size_t buffers_needed(size_t bytes, int slots);
unsigned char* send_slot(size_t bytes, int slot);
unsigned char* receive_slot(size_t bytes, int slot);
void fill(unsigned char* to, size_t bytes, uint64_t seed);
/* Ends the job with a message if the bytes are not those of fill(..., seed). */
void check(const unsigned char* from, size_t bytes, uint64_t seed);

/* first.c: the first calls of a job that does nothing else; 0: there is no such operation. Called on all
 * ranks; rank 0 gets the result. */
struct first_result {
  const char* names[2]; /* of the first call, and of the mean of the first ten */
  double ns[2];
};
int first_calls(const char* what, size_t bytes, int rank, int size, struct first_result* result);

/* floor.c: one cache line between two processes. make: called on both ranks of the pair. */
void floor_make(int leads, int partner);
double floor_one_way_ns(int leads);

#if defined(DRIVER_FORTRAN)
#include "fortran.h"
#endif

#endif
