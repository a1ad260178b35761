// Host lists: which names mean this machine. No name is looked up anywhere.
#pragma once

#include <string>
#include <vector>

namespace hearth::launch {

/// The entries of a host file: the first word of each line, with ":SLOTS" where it says slots; # begins a
/// comment.
std::vector<std::string> hosts_in_text(const std::string& text);

/// The two halves of an entry "name" or "name:slots"; 0 slots where it says none.
std::string name_of_host(const std::string& entry);
int slots_of_host(const std::string& entry);

/// The name of the first entry that means another machine, "" when all mean this one. `slots` becomes the sum
/// of those given, 0 when none is.
std::string first_other_host(const std::vector<std::string>& hosts, const std::string& own_name, int& slots);

}  // namespace hearth::launch
