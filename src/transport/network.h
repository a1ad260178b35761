// What a transport between machines offers beside the contract of transport.h: addresses, which somebody else
// carries to the other processes before the first packet, and an orderly end. One for each process, behind
// the router (router.h), under the library's lock.
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
  /// Known to the processes of the job only. What comes without it is thrown away.
  uint64_t key = 0;
  /// The machine of each process.
  std::vector<int> node_of;
  /// Told once of each process that cannot be reached any more, with what is known about it. Packets to it
  /// are thrown away from then on.
  void (*lost)(void* context, PeerIndex peer, const char* why) = nullptr;
  void* context = nullptr;
};

/// Longest payload of a packet between machines, where the system's TCP carries it and copies it anyway.
constexpr size_t kNetworkPacketBytesMax = 64 << 10;
/// And by other providers, whose cards can reach memory themselves.
constexpr size_t kNetworkPacketBytesUsual = 32 << 10;
/// And what stands in front of it on the way.
constexpr size_t kNetworkHeaderBytes = 40;

class Network : public Transport {
 public:
  /// Of this process, as others need it.
  virtual std::span<const std::byte> address() const = 0;
  /// The address of another process. Before the first packet to it.
  virtual void introduce(PeerIndex peer, std::span<const std::byte> address) = 0;
  /// "tcp;ofi_rxm on eth0", for people and for comparing: processes of a job must say the same.
  virtual const std::string& way() const = 0;

  /// Says to all it has exchanged packets with that no more will come; has_left() is true once everything has
  /// gone out and all of them have said so too, or have been silent for too long. Until then it must be
  /// polled.
  virtual void leave() = 0;
  virtual bool has_left() = 0;
};

/// Opens libfabric and a way out of this machine, as the parameters fabric_* ask for. Only now is the library
/// looked for.
Status open_fabric(const NetworkSetup& setup, std::unique_ptr<Network>& network);

/// What libfabric has here, for the tools.
struct NetworkOffer {
  std::string library;              // "libfabric 1.17"
  std::vector<std::string> offers;  // "tcp;ofi_rxm on eth0", in the library's order
  std::string chosen;               // of them; "" where none will do
  std::string why_none;             // then, in words with a remedy
  std::vector<std::byte> address;   // of the chosen interface: a sockaddr where it is of the Internet
  bool registers = false;           // what is sent has to stay in memory: limits on locked memory count
};
/// Asks libfabric, as open_fabric() would, and opens nothing but that library.
Status look_at_fabric(NetworkOffer& offer);

}  // namespace hearth::transport
