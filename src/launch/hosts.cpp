#include "launch/hosts.h"

#include <cctype>
#include <cstdlib>
#include <sstream>

#include "mpi.h"

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
  // One of the two may be written with its domain.
  const bool one_is_short = name.find('.') == std::string::npos || own_name.find('.') == std::string::npos;
  return one_is_short && first_label(name) == first_label(own_name);
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

Status check_hosts(const std::vector<std::string>& hosts, const std::string& own_name, int& slots) {
  slots = 0;
  for (const std::string& entry : hosts) {
    std::string name = entry;
    const size_t colon = entry.rfind(':');
    // "::1" has colons and no slots.
    if (colon != std::string::npos && colon > 0 && entry[colon - 1] != ':') {
      name.resize(colon);
      slots += std::atoi(entry.c_str() + colon + 1);
    }
    if (means_this_machine(name, own_name)) continue;
    return fail(
        MPI_ERR_ARG,
        "'%s' is not this machine ('%s'): starting ranks on other machines is not there yet. Remedy: leave "
        "the host list away, or name this machine or localhost in it",
        name.c_str(), own_name.c_str());
  }
  return {};
}

}  // namespace hearth::launch
