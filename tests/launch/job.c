/* A mixed job that checks all received data: messages of all lengths in both directions, blocking and
 * nonblocking, from the heap and from MPI_Alloc_mem; and collectives, short and long. Rank 0 reports success.
 * Halfway, depending on the argument:
 *   deny      the odd ranks install a filter against single copy, like a sandbox entered late
 *   time      checks in addition that MPI_Wtime neither runs backwards nor jumps
 *   die       rank 1 kills itself with SIGKILL
 *   eat       rank 1 allocates memory until it is killed
 *   stop      rank 1 stops itself; the test continues it
 *   abort     a signal interrupts a receive of rank 1, and its handler calls MPI_Abort
 *   call      like abort, but the handler calls MPI_Barrier
 *   fill      rank 1 prints a large amount of text */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "../multi/refusal.h"
#include "mpi.h"

static int rank, size;

static void expect(int right, const char* what, long place) {
  if (right) return;
  fprintf(stderr, "job: rank %d: %s is wrong at %ld\n", rank, what, place);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static unsigned char letter(int from, size_t at, int round) {
  return (unsigned char)(at * 7 + at / 251 + (size_t)from * 101 + (size_t)round * 31);
}

static void fill(unsigned char* data, size_t length, int round) {
  for (size_t at = 0; at < length; ++at) data[at] = letter(rank, at, round);
}

static void check(const unsigned char* data, size_t length, int from, int round, const char* what) {
  for (size_t at = 0; at < length; ++at) {
    if (data[at] != letter(from, at, round)) expect(0, what, (long)at);
  }
}

static const unsigned lengths[] = {0,    1,    7,     8,     56,     64,      65,     248,
                                   1000, 4096, 10000, 65536, 300001, 1 << 20, 4 << 20};
enum { length_count = sizeof lengths / sizeof lengths[0], length_max = 4 << 20 };

static void exchange(unsigned char* out, unsigned char* in) {
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  for (int round = 0; round < length_count; ++round) {
    const size_t length = lengths[round];
    MPI_Request requests[2];
    fill(out, length, round);
    memset(in, 0, length);
    MPI_Sendrecv(out, (int)length, MPI_BYTE, next, round, in, (int)length, MPI_BYTE, previous, round,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(in, length, previous, round, "a message around the ring");
    memset(in, 0, length);
    MPI_Irecv(in, (int)length, MPI_BYTE, next, round, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, (int)length, MPI_BYTE, previous, round, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check(in, length, next, round, "a message the other way round");
  }
}

static void reduce_and_gather(void) {
  static const int counts[] = {1, 20, 3000, 200000};
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  for (int length = 0; length < 4; ++length) {
    const int count = counts[length];
    int* own = malloc((size_t)count * sizeof *own);
    int* all = malloc((size_t)count * (size_t)size * sizeof *all);
    expect(own != NULL && all != NULL, "memory", count);
    for (int at = 0; at < count; ++at) own[at] = rank + at;
    MPI_Allreduce(own, all, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int at = 0; at < count; ++at) expect(all[at] == size * at + size * (size - 1) / 2, "a sum", at);
    MPI_Allreduce(own, all, count, MPI_INT, MPI_MAX, half);
    MPI_Allgather(own, count, MPI_INT, all, count, MPI_INT, MPI_COMM_WORLD);
    for (int at = 0; at < count * size; ++at)
      expect(all[at] == at / count + at % count, "what was gathered", at);
    MPI_Bcast(own, count, MPI_INT, size - 1, MPI_COMM_WORLD);
    for (int at = 0; at < count; ++at) expect(own[at] == size - 1 + at, "a broadcast", at);
    MPI_Barrier(MPI_COMM_WORLD);
    free(own);
    free(all);
  }
  MPI_Comm_free(&half);
}

static void deny(int number) {
  expect(refuse_call(number, EPERM), "a filter of system calls", number);
}

static void eat(void) {
  enum { bite = 1 << 20 };
  for (;;) {
    char* more = malloc(bite);
    expect(more != NULL, "a bite of memory", bite);
    memset(more, 1, bite);
  }
}

static void call_abort(int number) {
  (void)number;
  MPI_Abort(MPI_COMM_WORLD, 7);
}

static void call_barrier(int number) {
  (void)number;
  MPI_Barrier(MPI_COMM_WORLD);
}

static void be_interrupted(void (*handler)(int)) {
  const struct itimerval soon = {{0, 0}, {0, 50000}};
  char nothing;
  signal(SIGALRM, handler);
  setitimer(ITIMER_REAL, &soon, NULL);
  MPI_Recv(&nothing, 1, MPI_CHAR, MPI_ANY_SOURCE, 12345, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void half_way(const char* what) {
  if (strcmp(what, "deny") == 0 && rank % 2 == 1) {
    deny(SYS_process_vm_readv);
    deny(SYS_process_vm_writev);
  }
  if (rank != 1) return;
  if (strcmp(what, "die") == 0) raise(SIGKILL);
  if (strcmp(what, "stop") == 0) raise(SIGSTOP);
  if (strcmp(what, "abort") == 0) be_interrupted(call_abort);
  if (strcmp(what, "call") == 0) be_interrupted(call_barrier);
  if (strcmp(what, "eat") == 0) eat();
  if (strcmp(what, "fill") == 0) {
    for (int line = 0; line < 20000; ++line)
      printf("line %d of many, long enough to fill what there is\n", line);
  }
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  int level;
  MPI_Init_thread(&argc, &argv, getenv("HEARTH_TEST_THREADS") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                  &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  unsigned char *out = malloc(length_max), *in = malloc(length_max), *window = NULL;
  expect(out != NULL && in != NULL, "memory", length_max);
  double before = MPI_Wtime();
  for (int half = 0; half < 2; ++half) {
    exchange(out, in);
    MPI_Alloc_mem(length_max, MPI_INFO_NULL, &window);
    exchange(window, in);
    exchange(out, window);
    MPI_Free_mem(window);
    reduce_and_gather();
    if (half == 0) half_way(what);
    const double now = MPI_Wtime();
    if (strcmp(what, "time") == 0)
      expect(now >= before && now - before < 100, "the time", (long)(now - before));
    before = now;
  }
  free(out);
  free(in);
  if (rank == 0) printf("job: %d ranks, all right\n", size);
  MPI_Finalize();
  return 0;
}
