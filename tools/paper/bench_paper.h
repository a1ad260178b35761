// `hearth bench paper`: runs the experiments of the papers on this machine and says which claims it confirms.
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
  std::string application;            // with its words
  int application_ranks = 4;
  std::string page_file;
  std::string json_file;
};

/// Prints each experiment's verdicts as they come; progress goes to standard error. An experiment that fails
/// is told and does not keep the others from running; the result is an error then.
Status run_paper(const PaperOptions& options);

}  // namespace hearth::tools
