// Tests whether machines reach each other, in a job of another library's launcher. The launcher's server
// exchanges the addresses, so a broken network can be reported without using it. Called in one thread of each
// process of the job.
#pragma once

#include <vector>

#include "base/status.h"
#include "facts.h"

namespace hearth::tools {

/// The connection from one machine to another, as tested by the lowest rank of the first.
struct HostConnection {
  std::string from, to;  // names
  std::string by;        // "eth0 10.1.2.3 -> 10.1.2.4"
  std::string problem;   // "" if the connection works
  std::string remedy;
};

/// Called by all processes of the job. Rank 0 gets all connections in `ways`; only there `tells` becomes
/// true.
Status try_ways(std::vector<HostConnection>& ways, bool& tells);

}  // namespace hearth::tools
