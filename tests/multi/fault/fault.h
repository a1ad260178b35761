/* Shared by the programs of this folder, which need calls that only some libraries have. */
#ifndef TESTS_MULTI_FAULT_H
#define TESTS_MULTI_FAULT_H

#include <mpi-ext.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition, ...)                                             \
  do {                                                                    \
    if (!(condition)) {                                                   \
      fprintf(stderr, "%s:%d: rank %d: ", __FILE__, __LINE__, own_rank_); \
      fprintf(stderr, __VA_ARGS__);                                       \
      fprintf(stderr, "\n");                                              \
      MPI_Abort(MPI_COMM_WORLD, 3);                                       \
    }                                                                     \
  } while (0)

static int own_rank_; /* in MPI_COMM_WORLD */

static inline int class_of(int code) {
  int error_class = -1;
  MPI_Error_class(code, &error_class);
  return error_class;
}

static inline const char* words_of(int code) {
  static char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  return text;
}

static inline void pause_ms(int ms) {
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
  nanosleep(&time, NULL);
}

static inline void die(void) {
  raise(SIGKILL);
}

#endif
