// The words of --bind-to and --map-by, in Open MPI's dialect and in Hydra's, and the lists of processors that
// both take. One table for both options in placement_words.cpp; --help and the errors are printed from it.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "launch/placement.h"

namespace hearth::launch {

/// "core:2", "l3cache:overload-allowed", "user:0+2,1+3", "rr". `option` is how the user wrote the option.
Status read_bind(const std::string& option, const std::string& text, PlacementRequest& placement);
/// "package:PE=2", "ppr:2:l3cache", "spread", ":OVERSUBSCRIBE", "pe-list=0,2-3".
Status read_map(const std::string& option, const std::string& text, PlacementRequest& placement);
/// "0-3,8": numbers of processors.
Status read_processors(const std::string& option, const std::string& text, std::vector<int>& numbers);

}  // namespace hearth::launch
