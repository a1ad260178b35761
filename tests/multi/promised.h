/* Our programs run on other libraries as well (tests/conformance/peers.py), which proves them. What the
 * standard leaves open and Hearth promises, such as the answer to a wrong argument, is asked of Hearth only.
 */
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
