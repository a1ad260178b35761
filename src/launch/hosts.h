// Host lists, and which of their names mean this machine. Makes no name lookups.
#pragma once

#include <string>
#include <vector>

namespace hearth::launch {

/// The entries of a host file: the first word of each line, followed by ":SLOTS" if the line specifies slots;
/// # begins a comment.
std::vector<std::string> hosts_in_text(const std::string& text);

/// The two parts of an entry "name" or "name:slots"; 0 slots if it has none.
std::string name_of_host(const std::string& entry);
int slots_of_host(const std::string& entry);

/// The name of the first entry that means another machine, "" if all mean this one. `slots` is set to the sum
/// of the specified slots, 0 if there are none.
std::string first_other_host(const std::vector<std::string>& hosts, const std::string& own_name, int& slots);

}  // namespace hearth::launch
