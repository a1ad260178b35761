// The error of a command whose part of Hearth was left out of this build (cmake/optional.cmake).
#pragma once

#include "base/status.h"
#include "mpi.h"

namespace hearth {

/// MPI_ERR_UNSUPPORTED_OPERATION for `command`, as in "mpiexec --check"; `option` is the option of CMake that
/// leaves it out.
inline Status left_out(const char* command, const char* option) {
  return fail(
      MPI_ERR_UNSUPPORTED_OPERATION,
      "%s is not part of this installation, which was configured with -D%s=OFF. Remedy: configure, build "
      "and install Hearth with -D%s=ON",
      command, option, option);
}

}  // namespace hearth
