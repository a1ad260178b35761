// Finding out that a process of another machine is gone, while nobody sends it anything: one idle TCP
// connection to each process that is watched. The system itself keeps asking whether the other side is there
// and answers the same question of others, so that a rank which computes for hours without a call is no less
// alive. When the process ends its system closes the connection; when its machine or the way there is silent
// for too long, ours does.
//
// Owned by the fabric transport, under the library's lock. Connections carry no data, and none is read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/os_io.h"
#include "base/peer_index.h"

namespace hearth::transport {

class Guard {
 public:
  /// Listens at this address (a socket address of the Internet; of another kind nobody is watched).
  void open(std::span<const std::byte> address);
  /// Where others watch this process; 0: they cannot.
  uint16_t port() const { return port_; }
  /// From now on; once for each peer.
  void watch(PeerIndex peer, std::span<const std::byte> address, uint16_t port, uint64_t silent_ns);

  struct Gone {
    PeerIndex peer;
    const char* why;
  };
  /// Those that are gone since the last look.
  std::vector<Gone> look();

 private:
  static constexpr uint64_t kListenerToken = UINT64_MAX;

  os::Descriptor listener_;
  uint16_t port_ = 0;
  os::Poller poller_;
  std::vector<os::Descriptor> watchers_;  // of this process
  struct Watched {
    PeerIndex peer;
    os::Descriptor connection;
  };
  std::vector<Watched> watched_;  // the token of each is its place
};

}  // namespace hearth::transport
