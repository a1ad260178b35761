// Text for the findings of `hearth tune`.
#pragma once

#include <string>
#include <vector>

#include "tune/search.h"

namespace hearth::tools {

/// The comparison whose ratio is farthest from 1. Pre: there is one.
const tune::Comparison& clearest(const std::vector<tune::Comparison>& measured);

/// "0.80 (0.75 to 0.86) of the time at 64 KiB".
std::string ratio_text(const tune::Comparison& at, const std::string& place);
std::string ratio_text(const tune::Comparison& at);

}  // namespace hearth::tools
