// MPI info objects (MPI 5.0 section 10): an ordered list of (key, value) strings.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "objects/object.h"

namespace hearth::objects {

struct Info : Object {
  /// In the order of first insertion, as MPI_Info_get_nthkey requires.
  std::vector<std::pair<std::string, std::string>> entries;
};

/// The value of a key; nullptr if there is none, or no object.
inline const std::string* value_of(const Info* info, std::string_view key) {
  if (info == nullptr) return nullptr;
  const auto found = std::ranges::find(info->entries, key, &std::pair<std::string, std::string>::first);
  return found == info->entries.end() ? nullptr : &found->second;
}

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
