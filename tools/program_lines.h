// Running a measuring program and taking what it prints, line by line as it comes. Used by the benchmarks, in
// one thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace hearth::tools {

/// Runs the command; false from `take` says that a line is not understood. An error where the program fails
/// or a line was not understood.
Status for_each_line(const std::vector<std::string>& command,
                     const std::function<bool(const std::string& line)>& take);

}  // namespace hearth::tools
