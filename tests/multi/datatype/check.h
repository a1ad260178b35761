/* What the programs of this folder share. They use nothing but mpi.h, so that they can be tried on other MPI
 * libraries too. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../promised.h"

#define CHECK(condition, ...)                         \
  do {                                                \
    if (!(condition)) {                               \
      fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
      fprintf(stderr, __VA_ARGS__);                   \
      fprintf(stderr, "\n");                          \
      MPI_Abort(MPI_COMM_WORLD, 1);                   \
    }                                                 \
  } while (0)

static inline int class_of(int code) {
  int class_ = -1;
  MPI_Error_class(code, &class_);
  return class_;
}

static inline void expect_error(int code, int error_class, const char* words) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  CHECK(code != MPI_SUCCESS, "no error: %s", words);
  if (!promised()) return;
  MPI_Error_string(code, text, &length);
  CHECK(class_of(code) == error_class && strstr(text, words) != NULL, "class %d, not %d: '%s' and '%s'",
        class_of(code), error_class, text, words);
}

#endif
