// The connection monitor detects that a process on another machine has ended even if no packets are sent to
// it. It keeps one idle TCP connection to each monitored process. The kernel sends keep-alive probes and
// answers those of the other side, so a rank that computes for hours without an MPI call counts as alive.
// When the process ends, its kernel closes the connection; when its machine or the network is silent for too
// long, the local kernel does.
//
// A monitoring process first sends the job's secret; nothing else is read. A connection that sends anything
// else is closed, and reported once. A connection that sends nothing is dropped when others need its place.
// So foreign connections cannot keep processes of the job from monitoring, and use at most kStrangersMax
// descriptors.
//
// Owned by the fabric transport, under the library's lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/os_io.h"
#include "base/peer_index.h"

namespace hearth::transport {

class ConnectionMonitor {
 public:
  /// Listens at this socket address. Addresses other than IPv4 and IPv6 cannot be monitored. `key`: the job's
  /// secret.
  void open(std::span<const std::byte> address, uint64_t key);
  /// The port at which other processes monitor this one; 0: they cannot.
  uint16_t port() const { return port_; }
  /// Starts to monitor a peer; at most once per peer.
  void watch(PeerIndex peer, std::span<const std::byte> address, uint16_t port, uint64_t silent_ns);

  struct Gone {
    PeerIndex peer;
    const char* why;
    bool silent;  // no answer at all: the machine or the network failed, not only the process
  };
  /// Returns the peers that have ended since the last call.
  std::vector<Gone> take_gone();
  /// Whether a connection without the secret was dropped.
  bool refused() const { return refused_; }

 private:
  static constexpr uint64_t kListenerToken = UINT64_MAX;
  static constexpr uint64_t kWatcherBit = uint64_t{1} << 62;
  static constexpr size_t kStrangersMax = 64;
  static constexpr uint64_t kStrangerNs = 2'000'000'000;
  using Secret = std::array<std::byte, sizeof(uint64_t)>;

  void accept();
  void read_secret(size_t place);
  bool make_room();
  void drop(size_t place);

  Secret secret_ = {};
  os::Descriptor listener_;
  uint16_t port_ = 0;
  os::Poller poller_;
  /// An incoming connection. Its token in the poller is its index.
  struct Watcher {
    os::Descriptor connection;
    uint64_t since_ns;
    Secret received;
    size_t bytes = 0;
    bool known = false;
  };
  std::vector<Watcher> watchers_;
  struct Watched {
    PeerIndex peer;
    os::Descriptor connection;
    bool greeted = false;
  };
  std::vector<Watched> watched_;  // the token of each in the poller is its index
  bool refused_ = false;
};

}  // namespace hearth::transport
