// Process sets and their names (MPI 5.0 section 11.3.2). Names are URIs, whose scheme and host are
// case-insensitive (RFC 3986 section 6.2.2.1): "mpi://world" names the same set as "mpi://WORLD", as with
// MPICH and Open MPI. Names that are returned are spelled as in the standard.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace hearth::abi {

/// In the order of MPI_Session_get_nth_pset.
enum class ProcessSet { world, self };
constexpr const char* kProcessSetNames[] = {"mpi://WORLD", "mpi://SELF"};

/// Independent of the locale.
constexpr bool equal_but_for_case(std::string_view one, std::string_view other) {
  const auto lower = [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  };
  return std::ranges::equal(one, other, {}, lower, lower);
}

/// Finds the set of this name; false if there is none.
constexpr bool find_process_set(std::string_view name, ProcessSet& set) {
  const auto found = std::ranges::find_if(
      kProcessSetNames, [name](std::string_view known) { return equal_but_for_case(name, known); });
  if (found == std::end(kProcessSetNames)) return false;
  set = static_cast<ProcessSet>(found - std::begin(kProcessSetNames));
  return true;
}

}  // namespace hearth::abi
