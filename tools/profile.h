// `hearth profile`: writes the report of mpiexec --profile for a job that another library's launcher has
// started, from the parts that its ranks have left in a folder (HEARTH_PROFILE_FOLDER).
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace hearth::tools {

struct ProfileOptions {
  std::string folder;
  std::vector<std::string>
      output_files;  // JSON if the name ends in .json, else a page; "-": JSON on standard output
};

Status run_profile(const ProfileOptions& options);

}  // namespace hearth::tools
