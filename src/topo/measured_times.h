// What is known of the time that a line of memory takes between processes, as far as it was measured. Kept
// for the life of the process; used under the library's lock.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "base/peer_index.h"
#include "topo/mapping.h"

namespace hearth::topo {

class MeasuredTimes {
 public:
  /// In nanoseconds, one way; 0 while the pair is not measured.
  int between(PeerIndex one, PeerIndex other) const;
  /// The first time of a pair stays.
  void enter(PeerIndex one, PeerIndex other, int time_ns);

  /// Whether every pair of these is known.
  bool knows_all(std::span<const PeerIndex> peers) const;
  /// Pre: knows_all(). In the order of `peers`.
  Distances distances(std::span<const PeerIndex> peers) const;

 private:
  static uint64_t key_of(PeerIndex one, PeerIndex other);

  std::unordered_map<uint64_t, int> times_ns_;
};

}  // namespace hearth::topo
