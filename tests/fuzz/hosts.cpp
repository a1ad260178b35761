// Host files and host lists.
#include "launch/hosts.h"

#include "fuzz.h"

using namespace hearth;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  fuzz::Input input(data, bytes);
  const std::string own_name(input.take_text(4));
  const std::vector<std::string> hosts = launch::hosts_in_text(input.rest());
  int slots = 0;
  const std::string other = launch::first_other_host(hosts, own_name, slots);
  fuzz::demand(slots >= 0, "there are no fewer slots than none");
  for (const std::string& host : hosts) {
    fuzz::demand(!host.empty(), "a host has a name");
    fuzz::demand(launch::slots_of_host(host) >= 0, "no host has fewer slots than none");
    fuzz::demand(other.empty() || other != own_name, "the own name means no other machine");
  }
  return 0;
}
