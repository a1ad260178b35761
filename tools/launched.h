// Whether another library's launcher has started several of this program (mpiexec.hydra hearth bench). Called
// by the tools, in one thread, before they start anything.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace hearth::tools {

/// The number of this process among them; -1 where it was started by itself, or by a rank.
int launched_rank();

/// Becomes the rank that this process was started for; returns only when that fails.
Status become(const std::vector<std::string>& command);

}  // namespace hearth::tools
