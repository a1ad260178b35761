/* Common declarations of the steps of right.c. */
#pragma once

#include <mpi.h>

/* Ways of a rank to be late. */
enum { kSleeps, kComputes, kStopped, kReadsFiles, kSleepsBriefly, kWays };

typedef struct Late {
  int rank; /* in MPI_COMM_WORLD */
  int ms;
  int way;
} Late;

extern int rank_, size_;

/* Pseudorandom number below `below`. Equal on all ranks if they draw in the same order; not for threads. */
int draw(int below);
/* Spends the time if this rank is the late one. */
void be_late(const Late* late);
void pass(int ms, int way);

/* steps_messages.c */
void step_ring(const Late* late);
void step_chain(const Late* late);
void step_any_source(const Late* late);
void step_long_sends(const Late* late);
void step_persistent(const Late* late);
void step_partitioned(const Late* late);
void step_probes(const Late* late);
void step_waitany(const Late* late);
/* steps_collectives.c */
void step_collective(const Late* late);
void step_nonblocking_collectives(const Late* late);
void step_split(const Late* late);
/* steps_windows.c */
void step_fence(const Late* late);
void step_post_start(const Late* late);
void step_exclusive_locks(const Late* late);
void step_shared_locks(const Late* late);
void step_lock_all(const Late* late);
/* steps_threads.c */
void step_threads_exchange(const Late* late);
void step_threads_relay(const Late* late);
void step_threads_lock(const Late* late);
