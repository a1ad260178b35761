#include "transport/fabric_liveness.h"

#include <algorithm>

#include "base/os_wait.h"
#include "base/param.h"

namespace hearth::transport {

void FabricLiveness::watch(PeerIndex peer, std::span<const std::byte> address, uint16_t port) {
  monitor_.watch(peer, address, port, param::get_time_ns(param::Id::fabric_alive));
}

void FabricLiveness::read_events() {
  polls_ = 0;
  read_ns_ = os::now_ns();
  for (const ConnectionMonitor::Gone& gone : monitor_.take_gone()) {
    suspects_.push_back({gone.peer, gone.why, gone.silent, read_ns_});
  }
}

std::vector<PeerIndex> FabricLiveness::machines_to_watch() {
  if (packets_ != packets_seen_ || quiet_since_ns_ == 0) {
    packets_seen_ = packets_;
    quiet_since_ns_ = read_ns_;
    return {};
  }
  const uint64_t silent_ns = read_ns_ - quiet_since_ns_;
  if (machines_watched_ || silent_ns <= param::get_time_ns(param::Id::fabric_alive) / 4) return {};
  machines_watched_ = true;
  std::vector<int> seen;
  std::vector<PeerIndex> peers;
  for (size_t i = 0; i < machines_.size() && seen.size() < kMachinesWatchedMax; ++i) {
    const int machine = machines_[i];
    if (machine == machines_[static_cast<size_t>(self_)]) continue;
    if (std::find(seen.begin(), seen.end(), machine) != seen.end()) continue;
    seen.push_back(machine);
    peers.push_back(static_cast<PeerIndex>(i));
  }
  return peers;
}

}  // namespace hearth::transport
