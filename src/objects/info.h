// MPI info objects (MPI 5.0 section 10): an ordered list of (key, value) strings.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "objects/object.h"

namespace hearth::objects {

struct Info : Object {
  /// In the order of first insertion, as MPI_Info_get_nthkey requires.
  std::vector<std::pair<std::string, std::string>> entries;
};

/// Inserts the entries of `more` into `info`, replacing values with the same keys.
inline void merge(Info& info, const Info& more) {
  for (const auto& [key, value] : more.entries) {
    const auto place = std::ranges::find(info.entries, key, &std::pair<std::string, std::string>::first);
    if (place != info.entries.end()) {
      place->second = value;
    } else {
      info.entries.emplace_back(key, value);
    }
  }
}

}  // namespace hearth::objects
