// Cache of the measured times that a cache line takes between two processes. Lives as long as the process;
// accessed under the library's lock.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "base/peer_index.h"
#include "topo/mapping.h"

namespace hearth::topo {

class MeasuredTimes {
 public:
  /// One way, in nanoseconds; 0 if the pair has not been measured.
  int between(PeerIndex one, PeerIndex other) const;
  /// Ignored if the pair has a time already.
  void enter(PeerIndex one, PeerIndex other, int time_ns);

  /// Whether every pair of `peers` has been measured.
  bool knows_all(std::span<const PeerIndex> peers) const;
  /// Distances in the order of `peers`. Pre: knows_all(peers).
  Distances distances(std::span<const PeerIndex> peers) const;

 private:
  static uint64_t key_of(PeerIndex one, PeerIndex other);

  std::unordered_map<uint64_t, int> times_ns_;
};

}  // namespace hearth::topo
