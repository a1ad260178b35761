// `hearth doctor`: what a job needs here, line by line: there or not, and then what to do. With machines
// named it starts itself on each of them, by a launcher that reaches them, and each tries the way to each
// other (doctor_reach.h). Called in one thread.
#pragma once

#include <string>

#include "base/status.h"

namespace hearth::tools {

struct DoctorOptions {
  std::string hosts;  // names with commas between them; "": this machine only
  std::string host_file;
  bool between = false;  // only the ways between the machines of the launcher's job
  bool json = false;
};

/// `healthy`: every line says ok.
Status run_doctor(const DoctorOptions& options, bool& healthy);

}  // namespace hearth::tools
