// Decides when a process on another machine counts as lost: its monitored connection has ended, and the
// packet by which it announces its shutdown has not arrived in time. The transport asks every few hundred
// polls. After a long silence one process of each other machine is monitored, because this process may wait
// for a peer with which it has exchanged no packets. Owned by the fabric transport, under the library's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/peer_index.h"
#include "transport/connection_monitor.h"

namespace hearth::transport {

class FabricLiveness {
 public:
  /// `machines`: the machine of each process; empty: unknown. It must outlive this object. `key`: the job's
  /// secret.
  FabricLiveness(const std::vector<int>& machines, PeerIndex self, uint64_t key)
      : machines_(machines), self_(self), key_(key) {}

  /// Listens at this socket address, for the processes that monitor this one.
  void open(std::span<const std::byte> address) { monitor_.open(address, key_); }
  uint16_t port() const { return monitor_.port(); }
  /// Starts to monitor a peer; at most once per peer.
  void watch(PeerIndex peer, std::span<const std::byte> address, uint16_t port);

  /// Counts a poll and the packets that it returned; true if read_events() is due.
  bool count_poll(int packets) {
    packets_ += static_cast<uint64_t>(packets);
    return ++polls_ >= kPollsPerRead;
  }
  /// Reads the events of the monitored connections.
  void read_events();
  /// The next process that counts as lost; false if there is none. `has_left(peer)`: whether it has announced
  /// its shutdown and all its packets have arrived.
  struct Lost {
    PeerIndex peer;
    const char* why;
    bool with_machine;  // its machine does not answer, so all its processes are lost
  };
  template <class HasLeft>
  bool next_lost(Lost& lost, HasLeft has_left) {
    for (size_t i = 0; i < suspects_.size(); ++i) {
      const Suspect suspect = suspects_[i];
      if (read_ns_ - suspect.since_ns < kLeaveNs && !has_left(suspect.peer)) continue;
      suspects_.erase(suspects_.begin() + static_cast<std::ptrdiff_t>(i));
      lost = {suspect.peer, suspect.why, suspect.silent};
      return true;
    }
    return false;
  }
  /// Once after a long silence: one process of each other machine, to be monitored. Empty otherwise.
  std::vector<PeerIndex> machines_to_watch();
  /// Whether a connection without the job's secret was dropped.
  bool refused() const { return monitor_.refused(); }

 private:
  static constexpr uint32_t kPollsPerRead = 512;
  // Time for the shutdown packet of a process to arrive after its end has been detected.
  static constexpr uint64_t kLeaveNs = 500'000'000;
  // Machines that are monitored without an exchange of packets.
  static constexpr size_t kMachinesWatchedMax = 64;

  struct Suspect {
    PeerIndex peer;
    const char* why;
    bool silent;
    uint64_t since_ns;
  };

  const std::vector<int>& machines_;
  const PeerIndex self_;
  const uint64_t key_;
  ConnectionMonitor monitor_;
  std::vector<Suspect> suspects_;  // peers whose process has ended
  uint32_t polls_ = 0;             // since the last read_events()
  uint64_t packets_ = 0;
  uint64_t packets_seen_ = 0;  // at the last read_events()
  uint64_t read_ns_ = 0;
  uint64_t quiet_since_ns_ = 0;
  bool machines_watched_ = false;
};

}  // namespace hearth::transport
