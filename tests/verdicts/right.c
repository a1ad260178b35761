/* A correct program of random steps: right SEED [STEPS]. All ranks draw the same steps from the seed; in some
 * steps one rank is late. Every deadlock that mpiexec --why reports here is a false alarm (check.py). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "steps.h"

int rank_, size_;

static unsigned long long state_;

int draw(int below) {
  state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
  return (int)((state_ >> 33) % (unsigned)below);
}

static const struct {
  void (*run)(const Late* late);
  const char* name;
} steps_[] = {
    {step_ring, "ring"},
    {step_chain, "chain"},
    {step_any_source, "any-source"},
    {step_long_sends, "long-sends"},
    {step_persistent, "persistent"},
    {step_partitioned, "partitioned"},
    {step_probes, "probes"},
    {step_waitany, "waitany"},
    {step_collective, "collective"},
    {step_nonblocking_collectives, "nonblocking-collectives"},
    {step_split, "split"},
    {step_fence, "fence"},
    {step_post_start, "post-start"},
    {step_exclusive_locks, "exclusive-locks"},
    {step_shared_locks, "shared-locks"},
    {step_lock_all, "lock-all"},
    {step_threads_exchange, "threads-exchange"},
    {step_threads_relay, "threads-relay"},
    {step_threads_lock, "threads-lock"},
};
enum { kSteps = sizeof steps_ / sizeof steps_[0] };

int main(int argc, char** argv) {
  const int count = argc > 2 ? atoi(argv[2]) : 4;
  int level, long_step;
  state_ = (unsigned long long)(argc > 1 ? atoll(argv[1]) : 1) * 2654435761u;
  draw(2);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  long_step = draw(count + 1);
  for (int step = 0; step < count; ++step) {
    const int which = draw(kSteps);
    Late late = {draw(size_), step == long_step ? 1100 + draw(600) : draw(3) * draw(20), draw(kWays)};
    if (getenv("RIGHT_VERBOSE") != NULL && rank_ == 0)
      fprintf(stderr, "step %d: %s, rank %d late by %d ms, way %d\n", step, steps_[which].name, late.rank,
              late.ms, late.way);
    steps_[which].run(&late);
  }
  if (long_step == count) {
    const Late late = {draw(size_), 1100 + draw(600), draw(kWays)};
    be_late(&late);
  }
  MPI_Finalize();
  return 0;
}
