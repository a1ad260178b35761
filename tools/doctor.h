// `hearth doctor`: checks what a job needs on this machine, one line per item, with a remedy if something is
// missing. If machines are named, it starts itself on each of them with a launcher that reaches them, and
// each instance tests the connection to each other machine (doctor_reach.h). Called in one thread.
#pragma once

#include <string>

#include "base/status.h"

namespace hearth::tools {

struct DoctorOptions {
  std::string hosts;  // names separated by commas; "": this machine only
  std::string host_file;
  bool between = false;  // only the connections between the machines of the launcher's job
  bool json = false;
};

/// `healthy`: every line is ok.
Status run_doctor(const DoctorOptions& options, bool& healthy);

}  // namespace hearth::tools
