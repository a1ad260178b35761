#include "shm/corruption.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "mpi.h"

namespace hearth::shm {
namespace {

CorruptionHandler the_handler = nullptr;

}  // namespace

void set_corruption_handler(CorruptionHandler handler) {
  the_handler = handler;
}

void report_corruption(const char* format, ...) {
  char what[256];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  const Status status =
      fail(MPI_ERR_INTERN,
           "%s: memory that the ranks share was overwritten. Likely cause: a stray write by one of the job's "
           "programs, past the end of an array or through a bad pointer. Remedy: build it with "
           "-fsanitize=address, or run it with mpiexec --check",
           what);
  if (the_handler != nullptr) the_handler(status);
  std::fprintf(stderr, "hearth: %s\n", last_failure_text());
  std::abort();
}

}  // namespace hearth::shm
