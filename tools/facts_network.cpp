#include <fmt/format.h>

#include "base/os_socket.h"
#include "base/param.h"
#include "facts.h"

namespace hearth::tools {
namespace {

// The parameter as text: "10s".
std::string text_of(param::Id id) {
  return param::rows()[static_cast<size_t>(id)].value;
}

}  // namespace

NetworkFacts probe_network() {
  NetworkFacts facts;
  facts.alive = text_of(param::Id::fabric_alive);
  if (!transport::probe_fabric(facts.offer).ok()) {
    facts.problem = last_failure_text();
  } else if (facts.offer.chosen.empty()) {
    facts.problem = facts.offer.why_none;
  }
  return facts;
}

Json network_facts() {
  const NetworkFacts network = probe_network();
  Json facts = {{"library", network.offer.library.empty() ? "none" : network.offer.library}};
  facts["way_to_other_machines"] =
      network.problem.empty() ? network.offer.chosen : "none: " + network.problem;
  if (const std::string address = os::address_text(network.offer.address); !address.empty())
    facts["address"] = address;
  facts["offered"] = fmt::format("{}", fmt::join(network.offer.offers, ", "));
  facts["silent_at_most"] = network.alive;
  return facts;
}

}  // namespace hearth::tools
