// Host lists: which names mean this machine. No name is looked up anywhere.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace hearth::launch {

/// The entries of a host file: the first word of each line, with ":SLOTS" where it says slots; # begins a
/// comment.
std::vector<std::string> hosts_in_text(const std::string& text);

/// Checks that all entries ("name" or "name:slots") mean this machine; `slots` becomes the sum of those
/// given, 0 when none is.
Status check_hosts(const std::vector<std::string>& hosts, const std::string& own_name, int& slots);

}  // namespace hearth::launch
