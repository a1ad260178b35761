/* Who this rank is, and a check that ends the job with words. */
#ifndef TESTS_MULTI_COLL_CHECK_H
#define TESTS_MULTI_COLL_CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../promised.h"

static int rank_, size_;

/* Seconds on a clock that all processes of the machine share, as MPI_Wtime need not be. */
static inline double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

#define CHECK(condition, ...)                                                      \
  do {                                                                             \
    if (!(condition)) {                                                            \
      fprintf(stderr, "%s:%d: rank %d of %d: ", __FILE__, __LINE__, rank_, size_); \
      fprintf(stderr, __VA_ARGS__);                                                \
      fprintf(stderr, "\n");                                                       \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                \
    }                                                                              \
  } while (0)

#endif
