// Parses --bind-to and --map-by, in the syntax of Open MPI and of Hydra, and the processor lists that both
// accept. placement_words.cpp has one table for both options; --help and the errors are printed from it.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "launch/placement.h"

namespace hearth::launch {

/// "core:2", "l3cache:overload-allowed", "user:0+2,1+3", "rr". `option` is the option as the user wrote it.
Status read_bind(const std::string& option, const std::string& text, PlacementRequest& placement);
/// "package:PE=2", "ppr:2:l3cache", "spread", ":OVERSUBSCRIBE", "pe-list=0,2-3".
Status read_map(const std::string& option, const std::string& text, PlacementRequest& placement);
/// "0-3,8": processor numbers.
Status read_processors(const std::string& option, const std::string& text, std::vector<int>& numbers);

}  // namespace hearth::launch
