#include "base/status.h"

#include <cstdarg>
#include <cstdio>

#include "base/attempt.h"
#include "mpi.h"

namespace hearth {
namespace {

constexpr int kTextBytes = 480;  // fits MPI_MAX_ERROR_STRING together with the name of the call
thread_local char last_text[kTextBytes];

}  // namespace

Status fail(int error_class, const char* format, ...) {
  // Formatted into a buffer first: an argument may be last_failure_text() itself.
  char text[kTextBytes];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  std::snprintf(last_text, sizeof last_text, "%s", text);
  return Status::error(error_class);
}

Status fail_with_code(int error_code) {
  last_text[0] = 0;
  return Status::error(error_code);
}

Status out_of_memory() {
  return fail(
      MPI_ERR_NO_MEM,
      "no memory is left for what the library has to note for this call; it may have been carried out in "
      "part. Remedy: free objects, or give the process more memory (ulimit -v, control group)");
}

const char* last_failure_text() {
  return last_text;
}

}  // namespace hearth
