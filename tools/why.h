// `hearth why`: prints the report of mpiexec --why for any job of this user, from another terminal.
#pragma once

#include "base/status.h"

namespace hearth::tools {

struct WhyOptions {
  int pid = 0;  // of mpiexec or a rank; 0: the only running job
  bool json = false;
};

Status run_why(const WhyOptions& options);

}  // namespace hearth::tools
