// How the findings of `hearth tune` speak of what was measured.
#pragma once

#include <string>
#include <vector>

#include "tune/search.h"

namespace hearth::tools {

/// The comparison that speaks most clearly, one way or the other. Pre: there is one.
const tune::Comparison& clearest(const std::vector<tune::Comparison>& measured);

/// "0.80 (0.75 to 0.86) of the time at 64 KiB".
std::string ratio_text(const tune::Comparison& at, const std::string& place);
std::string ratio_text(const tune::Comparison& at);

}  // namespace hearth::tools
