// The network transport over libfabric, for the table of networks and for tools. Independent of libfabric's
// headers: in a build without them (fabric_absent.cpp), these functions return an error.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "transport/network.h"

namespace hearth::transport {

/// Longest payload of a packet between machines over the system's TCP, which copies it anyway.
constexpr size_t kNetworkPacketBytesMax = 64 << 10;
/// The same for other providers, whose network cards access memory directly.
constexpr size_t kNetworkPacketBytesUsual = 32 << 10;
/// Length of the header on the wire.
constexpr size_t kNetworkHeaderBytes = 40;

/// Loads libfabric and opens an endpoint, by the parameters fabric_*. The library is not loaded before.
Status open_fabric(const NetworkSetup& setup, std::unique_ptr<Network>& network);

/// The networks that libfabric offers on this machine, for the tools.
struct NetworkOffer {
  std::string library;              // "libfabric 1.17"
  std::vector<std::string> offers;  // "tcp;ofi_rxm on eth0", in the library's order
  std::string chosen;               // of these; "" if none is suitable
  std::string why_none;             // the reason then, with a remedy
  std::vector<std::byte> address;   // of the chosen interface: a sockaddr for IPv4 and IPv6
  bool registers = false;           // buffers have to be registered, and limits on locked memory apply
};
/// Queries libfabric as open_fabric() does, but opens nothing but the library.
Status probe_fabric(NetworkOffer& offer);

}  // namespace hearth::transport
