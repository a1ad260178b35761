/* The programs also run on other MPI libraries (tests/conformance/peers.py), which validates them. Behaviour
 * that the standard leaves open and Hearth guarantees, such as the error for an invalid argument, is tested
 * on Hearth only. */
#ifndef TESTS_MULTI_PROMISED_H
#define TESTS_MULTI_PROMISED_H

#include <mpi.h>
#include <string.h>

static inline int promised(void) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(text, &length);
  return strncmp(text, "Hearth ", 7) == 0;
}

#endif
