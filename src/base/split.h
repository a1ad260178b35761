// Parts of a text between separators. The streams of the C++ library do the same, but make libmpi_abi a fifth
// longer: the code of all locales comes with them.
#pragma once

#include <string_view>

namespace hearth {

/// Calls take(part) for each part of `text` between separators. A separator at the end begins no part.
template <class Take>
void split(std::string_view text, char separator, Take take) {
  while (!text.empty()) {
    const size_t end = text.find(separator);
    take(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

}  // namespace hearth
