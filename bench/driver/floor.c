/* The floor: the time that one cache line takes from one process to the other, without MPI. It shows the
 * state of the machine: a virtual machine's processors may be threads of one core, cores that share a cache,
 * or cores that do not, and may change between these states, while the reported topology stays the same.
 *
 * The two ranks share a page of a memory file without a name, which the partner opens through /proc. */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver.h"

enum { round_trips = 200, samples = 9, spins_before_yield = 20000 };
static const uint64_t over = UINT64_MAX;
/* A sample that takes longer was disturbed, or the ranks share one processor: stop sampling. */
static const double sample_ns_max = 20e6;

static uint64_t* line; /* NULL if the ranks share no page: no permission, or several machines */
static uint64_t last;  /* the leader's last value, from which the next probe continues */

void floor_make(int leads, int partner) {
  struct {
    int pid, descriptor;
  } where = {0, -1};
  int mine = 0, theirs = 0, descriptor = -1;
  void* page = MAP_FAILED;
  if (leads) {
    where.pid = (int)getpid();
    descriptor = memfd_create("bench_floor", MFD_CLOEXEC);
    where.descriptor = descriptor;
    if (descriptor >= 0 && ftruncate(descriptor, page_bytes) != 0) where.descriptor = -1;
    MPI_Send(&where, 2, MPI_INT, partner, tag_command, MPI_COMM_WORLD);
  } else {
    char path[64];
    MPI_Recv(&where, 2, MPI_INT, partner, tag_command, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", where.pid, where.descriptor);
    if (where.descriptor >= 0) descriptor = open(path, O_RDWR | O_CLOEXEC);
  }
  if (descriptor >= 0) page = mmap(NULL, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  mine = page != MAP_FAILED;
  MPI_Sendrecv(&mine, 1, MPI_INT, partner, tag_command, &theirs, 1, MPI_INT, partner, tag_command,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  /* Only now: the partner opens the file by the number of this descriptor. */
  if (descriptor >= 0) close(descriptor);
  if (mine && theirs) line = page;
}

static uint64_t wait_beyond(uint64_t value) {
  int spins = 0;
  for (;;) {
    const uint64_t now = __atomic_load_n(line, __ATOMIC_ACQUIRE);
    if (now > value) return now;
    if (++spins == spins_before_yield) {
      spins = 0;
      sched_yield();
    }
  }
}

/* The leader writes even values; its partner answers each with the next odd value, and `over` with 0. */
double floor_one_way_ns(int leads) {
  double sample[samples];
  int count = 0, i;
  if (line == NULL) return 0;
  if (!leads) {
    uint64_t seen = last;
    while ((seen = wait_beyond(seen)) != over) __atomic_store_n(line, ++seen, __ATOMIC_RELEASE);
    last = 0;
    __atomic_store_n(line, 0, __ATOMIC_RELEASE);
    return 0;
  }
  last = 0;
  do {
    const double begin = now_ns();
    for (i = 0; i < round_trips; ++i) {
      last += 2;
      __atomic_store_n(line, last, __ATOMIC_RELEASE);
      wait_beyond(last);
    }
    sample[count++] = (now_ns() - begin) / (2.0 * round_trips);
  } while (count < samples && sample[count - 1] * 2 * round_trips < sample_ns_max);
  __atomic_store_n(line, over, __ATOMIC_RELEASE);
  while (__atomic_load_n(line, __ATOMIC_ACQUIRE) != 0) sched_yield();
  return median_of(sample, count);
}
