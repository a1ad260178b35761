// Whether machines reach each other, tried in a job of another library's launcher: that launcher's server
// carries where each listens, so that nothing of the network is needed to tell that it does not work. Called
// in one thread of each process of the job.
#pragma once

#include <vector>

#include "base/status.h"
#include "facts.h"

namespace hearth::tools {

/// What one machine, by its lowest rank, has found out about the way to another.
struct Way {
  std::string from, to;  // names
  std::string by;        // "eth0 10.1.2.3 -> 10.1.2.4"
  std::string problem;   // "" where it is open
  std::string remedy;
};

/// Called by all processes of the job. `ways` is filled in rank 0, where `tells` becomes true.
Status try_ways(std::vector<Way>& ways, bool& tells);

}  // namespace hearth::tools
