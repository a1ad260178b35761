// `hearth tune`: measures which way for a message is better from which length on, for every relation that two
// processors of this machine have, and up to where two algorithms of collectives are (tune_collectives.h);
// writes the profile.
#pragma once

#include <string>

#include "base/status.h"

namespace hearth::tools {

struct TuneOptions {
  bool quick = false;       // the most important thresholds only, in seconds
  bool background = false;  // as mpiexec starts it: quick, and only on an idle machine without a profile
  std::string output_file;  // instead of the user's own place; "-": standard output
  std::string plot_file;    // the curves and crossovers, as SVG
};

/// Shows how far it is on standard error.
Status run_tune(const TuneOptions& options);

}  // namespace hearth::tools
