// Runs a measuring program and passes on its output, line by line as it arrives. Used by the benchmarks, in
// one thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace hearth::tools {

/// Runs the command. `take` returns false for a line that it does not understand. Fails if the program fails
/// or a line was not understood.
Status for_each_line(const std::vector<std::string>& command,
                     const std::function<bool(const std::string& line)>& take);

}  // namespace hearth::tools
