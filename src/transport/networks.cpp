// The table of networks. A new one adds a row.
#include "transport/fabric.h"
#include "transport/network.h"

namespace hearth::transport {
namespace {

constexpr NetworkKind kKinds[] = {
    {"fabric", open_fabric},
};

}  // namespace

std::span<const NetworkKind> network_kinds() {
  return kKinds;
}

Status open_network(const NetworkSetup& setup, std::unique_ptr<Network>& network) {
  Status opened;
  for (const NetworkKind& kind : kKinds) {
    opened = kind.open(setup, network);
    if (opened.ok()) break;
  }
  return opened;
}

}  // namespace hearth::transport
