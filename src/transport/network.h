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

/// Opens the first network of the table in networks.cpp that works on this machine, without the endpoint
/// addresses of the other processes. Fails with the error of the last network if none works. Different
/// choices on two machines are reported when the addresses are read (endpoint_address.h).
Status open_network(const NetworkSetup& setup, std::unique_ptr<Network>& network);

/// A row of that table.
struct NetworkKind {
  const char* name;
  Status (*open)(const NetworkSetup& setup, std::unique_ptr<Network>& network);
};
std::span<const NetworkKind> network_kinds();

}  // namespace hearth::transport
