// Which process gets which rank, so that ranks that talk much with each other lie near each other. Pure
// computation: the same on every process that passes the same.
//
// The problem is the quadratic assignment problem, for which no fast exact way is known. Taken is the best of
// several starts, each improved by exchanging pairs while that is cheaper (in the way of Kernighan and Lin,
// An Efficient Heuristic Procedure for Partitioning Graphs, 1970): the order as it is; one built by always
// placing the rank that talks most with those placed; one that divides the ranks along the machine's tree,
// from its top down (Pellegrini, Static Mapping by Dual Recursive Bipartitioning of Process and Architecture
// Graphs, 1994; TreeMatch of Jeannot and Mercier, 2010, goes up the same tree); and shaken forms of the best
// so far.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shm/layout.h"
#include "topo/memory_nodes.h"
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
  /// Of ranks with these places, by what is reported of them.
  static Distances between(std::span<const shm::RankPlace> places);
  /// The same, with what the machine tells of the ways between its memory nodes.
  static Distances between(std::span<const shm::RankPlace> places, std::span<const MemoryNode> nodes);
  /// By measurement: times_ns[one * processes + other], above the diagonal. Times that may differ by chance
  /// count as equal, so that noise moves nobody.
  static Distances measured(int processes, std::span<const int> times_ns);
  /// Of the first ones only.
  Distances first(int processes) const;

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

/// How much looking around is worth it: a step is a look at what two ranks exchange, about a nanosecond.
/// Ranks wait for the first, a person who has a matrix for the second.
constexpr int64_t kStepsOfACall = 100'000'000;
constexpr int64_t kStepsOfALaunch = 1'500'000'000;

/// processes[rank], for as many ranks as there are processes: each process once. The identity unless another
/// order costs less, and where so many steps are not enough to look at each pair once.
std::vector<int> arrange(std::span<const Traffic> traffic, const Distances& distances,
                         int64_t steps_max = kStepsOfACall);

}  // namespace hearth::topo
