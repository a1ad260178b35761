// Which process gets which rank, so that ranks that talk much with each other lie near each other. Pure
// computation: the same on every process that passes the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shm/layout.h"
#include "topo/relation.h"

namespace hearth::topo {

/// Two different ranks that talk with each other, and how much.
struct Traffic {
  int one;
  int other;
  int64_t weight;
};

/// Distances between processes, symmetric.
class Distances {
 public:
  explicit Distances(int processes)
      : processes_(processes), cells_(static_cast<size_t>(processes) * static_cast<size_t>(processes)) {}
  /// Of ranks with these places.
  static Distances between(std::span<const shm::RankPlace> places);

  int processes() const { return processes_; }
  int at(int one, int other) const { return cells_[index(one, other)]; }
  void set(int one, int other, int distance) {
    cells_[index(one, other)] = cells_[index(other, one)] = distance;
  }
  /// Whether all pairs are equally far apart: no order of ranks is better than another.
  bool uniform() const;

 private:
  size_t index(int one, int other) const {
    return static_cast<size_t>(one) * static_cast<size_t>(processes_) + static_cast<size_t>(other);
  }

  int processes_;
  std::vector<int> cells_;
};

/// How far a message goes between ranks with this relation, in comparison to others.
int distance_of(Relation relation);

/// What all traffic costs, each message its distance, when rank r is process processes[r].
int64_t cost_of(std::span<const int> processes, std::span<const Traffic> traffic, const Distances& distances);

/// processes[rank], for as many ranks as there are processes: each process once. The identity unless another
/// order costs less, and where there is too much to look at.
std::vector<int> arrange(std::span<const Traffic> traffic, const Distances& distances);

}  // namespace hearth::topo
