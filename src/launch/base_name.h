// The last component of a path.
#pragma once

#include <string>

namespace hearth::launch {

inline std::string base_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace hearth::launch
