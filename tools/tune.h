// `hearth tune`: measures the crossover lengths of protocols for every relation between two processors of
// this machine, and the crossovers of algorithms of collectives (tune_collectives.h). Writes the profile.
#pragma once

#include <string>

#include "base/status.h"

namespace hearth::tools {

struct TuneOptions {
  bool quick = false;       // the most important thresholds only, in seconds
  bool background = false;  // as started by mpiexec: quick, and only on an idle machine without a profile
  std::string output_file;  // instead of the user's default; "-": standard output
  std::string plot_file;    // the curves and crossovers, as SVG
};

/// Shows its progress on standard error.
Status run_tune(const TuneOptions& options);

}  // namespace hearth::tools
