// A profile as an HTML page: one file with embedded charts, without scripts and without external resources,
// for light and dark mode.
#pragma once

#include <string>

#include "profile/report/summary.h"

namespace hearth::profile {

std::string to_page(const Summary& summary);

}  // namespace hearth::profile
