// Finding out that a process of another machine is gone, while nobody sends it anything: one idle TCP
// connection to each process that is watched. The system itself keeps asking whether the other side is there
// and answers the same question of others, so that a rank which computes for hours without a call is no less
// alive. When the process ends its system closes the connection; when its machine or the way there is silent
// for too long, ours does.
//
// Who watches a process first says the job's secret; nothing else is read. A connection that says something
// else is closed and told of once, and strangers that say nothing give their place up to others: they can
// keep nobody of the job from watching, and take no more than kStrangersMax descriptors.
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

class Guard {
 public:
  /// Listens at this address (a socket address of the Internet; of another kind nobody is watched). `key`:
  /// the secret of the job.
  void open(std::span<const std::byte> address, uint64_t key);
  /// Where others watch this process; 0: they cannot.
  uint16_t port() const { return port_; }
  /// From now on; once for each peer.
  void watch(PeerIndex peer, std::span<const std::byte> address, uint16_t port, uint64_t silent_ns);

  struct Gone {
    PeerIndex peer;
    const char* why;
    bool silent;  // nobody answers there: it is more than that process
  };
  /// Those that are gone since the last look.
  std::vector<Gone> look();
  /// Whether somebody has connected who does not know the secret.
  bool refused() const { return refused_; }

 private:
  static constexpr uint64_t kListenerToken = UINT64_MAX;
  static constexpr uint64_t kWatcherBit = uint64_t{1} << 62;
  static constexpr size_t kStrangersMax = 64;
  static constexpr uint64_t kStrangerNs = 2'000'000'000;
  using Secret = std::array<std::byte, sizeof(uint64_t)>;

  void accept();
  void hear(size_t place);
  bool make_room();
  void drop(size_t place);

  Secret secret_ = {};
  os::Descriptor listener_;
  uint16_t port_ = 0;
  os::Poller poller_;
  /// Of this process. Its token is its place.
  struct Watcher {
    os::Descriptor connection;
    uint64_t since_ns;
    Secret said;
    size_t bytes = 0;
    bool known = false;
  };
  std::vector<Watcher> watchers_;
  struct Watched {
    PeerIndex peer;
    os::Descriptor connection;
    bool greeted = false;
  };
  std::vector<Watched> watched_;  // the token of each is its place
  bool refused_ = false;
};

}  // namespace hearth::transport
