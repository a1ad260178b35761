/* Synchronization of all ranks without MPI: a barrier, so that a collective begins on all ranks at the same
 * time and a library's slow start does not count for another one; and each rank's times, which use one clock.
 *
 * Uses a memory file without a name, which the other ranks open through /proc. Ranks on several machines have
 * neither memory nor a clock in common: they use MPI_Barrier, and the slowest rank's own time counts. */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver.h"

struct shared {
  uint64_t arrived;
  char rest_of_line[line_bytes - sizeof(uint64_t)];
  uint64_t round;
  char rest_of_second_line[line_bytes - sizeof(uint64_t)];
  struct {
    double begin_ns, end_ns;
    char rest_of_line[line_bytes - 2 * sizeof(double)];
  } times[];
};

static struct shared* shared;
static int own_rank, ranks, spins_max;
static double own_ns; /* if nothing is shared */

void together_make(int rank, int size, int machines) {
  const size_t bytes = sizeof(struct shared) + (size_t)size * sizeof shared->times[0];
  int where[2] = {0, -1}, descriptor = -1, mine, all;
  char path[64];
  own_rank = rank;
  ranks = size;
  if (machines > 1) return;
  spins_max = size <= processors_usable() ? 20000 : 1;
  if (rank == 0) {
    where[0] = (int)getpid();
    where[1] = descriptor = memfd_create("bench_together", MFD_CLOEXEC);
    if (descriptor >= 0 && ftruncate(descriptor, (off_t)bytes) != 0) where[1] = -1;
  }
  MPI_Bcast(where, 2, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank != 0 && where[1] >= 0) {
    snprintf(path, sizeof path, "/proc/%d/fd/%d", where[0], where[1]);
    descriptor = open(path, O_RDWR | O_CLOEXEC);
  }
  if (descriptor >= 0) shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  mine = descriptor >= 0 && shared != MAP_FAILED;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!all) {
    if (rank == 0) fprintf(stderr, "bench_driver: the ranks cannot share a page by way of /proc\n");
    MPI_Finalize();
    exit(2);
  }
  close(descriptor);
}

void together_wait(void) {
  uint64_t round;
  int spins = 0;
  if (shared == NULL) {
    MPI_Barrier(MPI_COMM_WORLD);
    return;
  }
  round = __atomic_load_n(&shared->round, __ATOMIC_ACQUIRE);
  if (__atomic_add_fetch(&shared->arrived, 1, __ATOMIC_ACQ_REL) == (uint64_t)ranks) {
    __atomic_store_n(&shared->arrived, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&shared->round, round + 1, __ATOMIC_RELEASE);
    return;
  }
  while (__atomic_load_n(&shared->round, __ATOMIC_ACQUIRE) == round) {
    if (++spins < spins_max) continue;
    spins = 0;
    sched_yield();
  }
}

void together_note(double begin_ns, double end_ns) {
  if (shared == NULL) {
    own_ns = end_ns - begin_ns;
    return;
  }
  shared->times[own_rank].begin_ns = begin_ns;
  shared->times[own_rank].end_ns = end_ns;
}

double together_elapsed_ns(void) {
  double begin, end;
  int rank;
  if (shared == NULL) {
    MPI_Allreduce(&own_ns, &end, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return end;
  }
  begin = shared->times[0].begin_ns;
  end = shared->times[0].end_ns;
  for (rank = 1; rank < ranks; ++rank) {
    if (shared->times[rank].begin_ns < begin) begin = shared->times[rank].begin_ns;
    if (shared->times[rank].end_ns > end) end = shared->times[rank].end_ns;
  }
  return end - begin;
}
