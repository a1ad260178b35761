// MPI info objects (MPI 5.0 section 10): an ordered list of (key, value) strings.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "objects/object.h"

namespace hearth::objects {

struct Info : Object {
  /// In the order of first setting, as MPI_Info_get_nthkey needs.
  std::vector<std::pair<std::string, std::string>> entries;
};

}  // namespace hearth::objects
