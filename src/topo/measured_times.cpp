#include "topo/measured_times.h"

#include <algorithm>
#include <vector>

namespace hearth::topo {

uint64_t MeasuredTimes::key_of(PeerIndex one, PeerIndex other) {
  const auto [low, high] = std::minmax(one, other);
  return uint64_t{static_cast<uint32_t>(low)} << 32 | static_cast<uint32_t>(high);
}

int MeasuredTimes::between(PeerIndex one, PeerIndex other) const {
  const auto found = times_ns_.find(key_of(one, other));
  return found == times_ns_.end() ? 0 : found->second;
}

void MeasuredTimes::enter(PeerIndex one, PeerIndex other, int time_ns) {
  times_ns_.emplace(key_of(one, other), time_ns);
}

bool MeasuredTimes::knows_all(std::span<const PeerIndex> peers) const {
  for (size_t one = 0; one < peers.size(); ++one) {
    for (size_t other = one + 1; other < peers.size(); ++other) {
      if (between(peers[one], peers[other]) == 0) return false;
    }
  }
  return true;
}

Distances MeasuredTimes::distances(std::span<const PeerIndex> peers) const {
  const size_t count = peers.size();
  std::vector<int> times_ns(count * count);
  for (size_t one = 0; one < count; ++one) {
    for (size_t other = one + 1; other < count; ++other) {
      times_ns[one * count + other] = between(peers[one], peers[other]);
    }
  }
  return Distances::measured(static_cast<int>(count), times_ns);
}

}  // namespace hearth::topo
