// A profile as JSON: docs/design/profile.md lists its fields.
#pragma once

#include <string>

#include "profile/report/summary.h"

namespace hearth::profile {

std::string to_json(const Summary& summary);

}  // namespace hearth::profile
