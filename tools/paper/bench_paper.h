// `hearth bench paper`: runs the experiments of the papers on this machine and reports the confirmed claims.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace hearth::tools {

struct PaperOptions {
  std::vector<std::string> names;
  bool all = false;
  bool list = false;
  bool quick = false;
  std::vector<std::string> prefixes;  // of other MPI libraries
  std::string application;            // with its arguments
  int application_ranks = 4;
  std::string page_file;
  std::string json_file;
};

/// Prints each experiment's verdicts as they arrive, and progress on standard error. A failed experiment is
/// reported and the others still run; the result is an error then.
Status run_paper(const PaperOptions& options);

}  // namespace hearth::tools
