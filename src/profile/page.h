// A profile as a page: one HTML file with its pictures inside, without script and without anything to fetch,
// that reads on light and on dark ground.
#pragma once

#include <string>

#include "profile/summary.h"

namespace hearth::profile {

std::string to_page(const Summary& summary);

}  // namespace hearth::profile
