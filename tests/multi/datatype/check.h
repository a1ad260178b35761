/* Shared by the programs of this folder, which use mpi.h only, so that other MPI libraries can run them. */
#ifndef TESTS_MULTI_DATATYPE_CHECK_H
#define TESTS_MULTI_DATATYPE_CHECK_H

#include "../coll/check.h"

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
