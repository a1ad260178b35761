// Detects whether another library's launcher has started several instances of this program (mpiexec.hydra
// hearth bench). Called by the tools, in one thread, before they start anything.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace hearth::tools {

/// The rank of this process among them; -1 if it was started directly, or by a rank.
int launched_rank();

/// Replaces this process by the rank for which it was started; returns only on failure.
Status become(const std::vector<std::string>& command);

}  // namespace hearth::tools
