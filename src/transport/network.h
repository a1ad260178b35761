// The contract of a network transport, in addition to transport.h: endpoint addresses, which the caller
// distributes to the other processes before the first packet, and an orderly shutdown. One per process,
// behind the router (router.h), under the library's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "transport/transport.h"

namespace hearth::transport {

struct NetworkSetup {
  PeerIndex self = 0;
  int size = 1;
  /// The job's secret. Packets without it are dropped.
  uint64_t key = 0;
  /// The machine of each process.
  std::vector<int> node_of;
  /// Called once for each process that has become unreachable, with the reason. Later packets to it are
  /// dropped.
  void (*lost)(void* context, PeerIndex peer, const char* why) = nullptr;
  void* context = nullptr;
};

/// Longest payload of a packet between machines over the system's TCP, which copies it anyway.
constexpr size_t kNetworkPacketBytesMax = 64 << 10;
/// The same for other providers, whose network cards access memory directly.
constexpr size_t kNetworkPacketBytesUsual = 32 << 10;
/// Length of the header on the wire.
constexpr size_t kNetworkHeaderBytes = 40;

class Network : public Transport {
 public:
  /// The endpoint address of this process.
  virtual std::span<const std::byte> address() const = 0;
  /// Sets the endpoint address of another process, before the first packet to it.
  virtual void introduce(PeerIndex peer, std::span<const std::byte> address) = 0;
  /// "tcp;ofi_rxm on eth0". All processes of a job need the same provider.
  virtual const std::string& way() const = 0;

  /// Announces the shutdown to all processes with which packets were exchanged. has_left() is true once all
  /// packets have been sent and all these processes have announced theirs, or have been silent for too long.
  /// The transport must be polled until then.
  virtual void leave() = 0;
  virtual bool has_left() = 0;
  /// Ends the shutdown, for a later session. Reports the processes that were lost since leave() without
  /// having announced theirs.
  virtual void rejoin() = 0;
};

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
Status look_at_fabric(NetworkOffer& offer);

}  // namespace hearth::transport
