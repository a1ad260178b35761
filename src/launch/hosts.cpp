#include "launch/hosts.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace hearth::launch {
namespace {

std::string first_label(const std::string& name) {
  return name.substr(0, name.find('.'));
}

bool means_this_machine(const std::string& name, const std::string& own_name) {
  for (const char* local : {"localhost", "localhost.localdomain", "127.0.0.1", "::1", "ip6-localhost"}) {
    if (name == local) return true;
  }
  if (name == own_name) return true;
  // One of the two names may include its domain.
  const bool one_is_short = name.find('.') == std::string::npos || own_name.find('.') == std::string::npos;
  return one_is_short && first_label(name) == first_label(own_name);
}

// Position of the colon in front of the slots; "::1" has colons and no slots.
size_t slots_colon(const std::string& entry) {
  const size_t colon = entry.rfind(':');
  const bool has_slots = colon != std::string::npos && colon > 0 && entry[colon - 1] != ':';
  return has_slots ? colon : std::string::npos;
}

}  // namespace

std::vector<std::string> hosts_in_text(const std::string& text) {
  std::vector<std::string> hosts;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line.resize(std::min(line.find('#'), line.size()));
    std::istringstream words(line);
    std::string host;
    if (!(words >> host)) continue;
    for (std::string word; words >> word;) {
      if (word.starts_with("slots=")) host += ":" + word.substr(6);
    }
    hosts.push_back(std::move(host));
  }
  return hosts;
}

std::string name_of_host(const std::string& entry) {
  return entry.substr(0, slots_colon(entry));
}

int slots_of_host(const std::string& entry) {
  const size_t colon = slots_colon(entry);
  return colon == std::string::npos ? 0 : std::max(std::atoi(entry.c_str() + colon + 1), 0);
}

std::string first_other_host(const std::vector<std::string>& hosts, const std::string& own_name, int& slots) {
  slots = 0;
  std::string other;
  for (const std::string& entry : hosts) {
    slots += slots_of_host(entry);
    if (other.empty() && !means_this_machine(name_of_host(entry), own_name)) other = name_of_host(entry);
  }
  return other;
}

}  // namespace hearth::launch
