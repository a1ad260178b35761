// Maps ranks to processes so that ranks with much traffic between them are placed on nearby processors. Pure
// computation: equal arguments give equal results on every process.
//
// This is the quadratic assignment problem, for which no fast exact algorithm is known. The result is the
// best of several starting points, each improved by pairwise exchange (Kernighan and Lin, An Efficient
// Heuristic Procedure for Partitioning Graphs, 1970):
//   - the identity;
//   - greedy placement: next comes the rank with the most traffic to the ranks already placed;
//   - recursive partitioning along the machine's tree, top down (Pellegrini, Static Mapping by Dual Recursive
//     Bipartitioning of Process and Architecture Graphs, 1994; TreeMatch of Jeannot and Mercier, 2010, goes
//     bottom up);
//   - random perturbations of the best result so far.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shm/layout.h"
#include "topo/memory_nodes.h"
#include "topo/relation.h"

namespace hearth::topo {

/// The traffic between two different ranks; the unit of `weight` is the caller's (bytes, messages).
struct Traffic {
  int one;
  int other;
  int64_t weight;
};

/// A symmetric matrix of distances between processes.
class Distances {
 public:
  explicit Distances(int processes)
      : processes_(processes), cells_(static_cast<size_t>(processes) * static_cast<size_t>(processes)) {}
  /// Between ranks with these places, from the reported topology.
  static Distances between(std::span<const shm::RankPlace> places);
  /// The same, with the firmware's distances between memory nodes where it has them.
  static Distances between(std::span<const shm::RankPlace> places, std::span<const MemoryNode> nodes);
  /// From measured times: times_ns[one * processes + other], above the diagonal. Times that differ by noise
  /// only are made equal, so that noise does not move ranks.
  static Distances measured(int processes, std::span<const int> times_ns);
  /// The submatrix of the first processes.
  Distances first(int processes) const;

  int processes() const { return processes_; }
  int at(int one, int other) const { return cells_[index(one, other)]; }
  void set(int one, int other, int distance) {
    cells_[index(one, other)] = cells_[index(other, one)] = distance;
  }
  /// Whether all distances are equal, so that no mapping is better than another.
  bool uniform() const;

 private:
  size_t index(int one, int other) const {
    return static_cast<size_t>(one) * static_cast<size_t>(processes_) + static_cast<size_t>(other);
  }

  int processes_;
  std::vector<int> cells_;
};

/// The relative distance between ranks with this relation, where nothing was measured.
int distance_of(Relation relation);

/// The sum of weight times distance over all traffic if rank r is process processes[r].
int64_t cost_of(std::span<const int> processes, std::span<const Traffic> traffic, const Distances& distances);

/// Budget of the search in steps; a step is one evaluation of the traffic between two ranks, about 1 ns. The
/// first is for MPI calls, while all ranks wait; the second for mpiexec --place-by.
constexpr int64_t kStepsOfACall = 100'000'000;
constexpr int64_t kStepsOfALaunch = 1'500'000'000;

/// Returns processes[rank], a permutation. It is the identity unless another mapping costs less, or if
/// `steps_max` is too small to evaluate each pair once.
std::vector<int> arrange(std::span<const Traffic> traffic, const Distances& distances,
                         int64_t steps_max = kStepsOfACall);

}  // namespace hearth::topo
