#include "topo/mapping.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

namespace hearth::topo {
namespace {

/// A rank with traffic to the rank whose list contains it.
struct Partner {
  int rank;
  int64_t weight;
};
using Partners = std::vector<std::vector<Partner>>;  // by rank

Partners partners_of(std::span<const Traffic> traffic, int ranks) {
  Partners partners(static_cast<size_t>(ranks));
  for (const Traffic& edge : traffic) {
    partners[static_cast<size_t>(edge.one)].push_back({edge.other, edge.weight});
    partners[static_cast<size_t>(edge.other)].push_back({edge.one, edge.weight});
  }
  return partners;
}

/// The cost of one rank's traffic if it is placed on `process`. Partners that are not placed yet (-1) count
/// as 0.
int64_t cost_at(const std::vector<Partner>& partners, int process, const std::vector<int>& processes,
                const Distances& distances) {
  int64_t cost = 0;
  for (const Partner& partner : partners) {
    const int other = processes[static_cast<size_t>(partner.rank)];
    if (other >= 0) cost += partner.weight * distances.at(process, other);
  }
  return cost;
}

int64_t weight_to_placed(const std::vector<Partner>& partners, const std::vector<int>& processes) {
  int64_t weight = 0;
  for (const Partner& partner : partners) {
    if (processes[static_cast<size_t>(partner.rank)] >= 0) weight += partner.weight;
  }
  return weight;
}

/// Places one rank after the other: the rank with the most traffic to placed ranks, on the process where it
/// costs least.
std::vector<int> place_greedily(const Partners& partners, const Distances& distances) {
  const int ranks = distances.processes();
  std::vector<int> processes(static_cast<size_t>(ranks), -1);
  std::vector<bool> taken(static_cast<size_t>(ranks), false);
  for (int placed = 0; placed < ranks; ++placed) {
    int chosen = -1;
    int64_t chosen_weight = -1;
    for (int rank = 0; rank < ranks; ++rank) {
      if (processes[static_cast<size_t>(rank)] >= 0) continue;
      const int64_t weight = weight_to_placed(partners[static_cast<size_t>(rank)], processes);
      if (weight <= chosen_weight) continue;
      chosen = rank;
      chosen_weight = weight;
    }
    int best = -1;
    int64_t best_cost = 0;
    for (int process = 0; process < ranks; ++process) {
      if (taken[static_cast<size_t>(process)]) continue;
      const int64_t cost = cost_at(partners[static_cast<size_t>(chosen)], process, processes, distances);
      if (best >= 0 && cost >= best_cost) continue;
      best = process;
      best_cost = cost;
    }
    processes[static_cast<size_t>(chosen)] = best;
    taken[static_cast<size_t>(best)] = true;
  }
  return processes;
}

/// Swaps the processes of pairs of these ranks while a swap reduces the cost and steps are left. `distance`
/// is a function of two processes.
template <class Distance>
void improve(std::vector<int>& processes, const std::vector<int>& ranks, const Partners& partners,
             const Distance& distance, int64_t& steps) {
  const auto cost_of = [&](int rank) {
    int64_t cost = 0;
    const int process = processes[static_cast<size_t>(rank)];
    for (const Partner& partner : partners[static_cast<size_t>(rank)]) {
      const int other = processes[static_cast<size_t>(partner.rank)];
      if (other >= 0) cost += partner.weight * distance(process, other);
    }
    return cost;
  };
  for (bool better = true; better && steps > 0;) {
    better = false;
    for (size_t i = 0; i < ranks.size() && steps > 0; ++i) {
      const int one = ranks[i];
      for (size_t j = i + 1; j < ranks.size(); ++j) {
        const int other = ranks[j];
        const int64_t before = cost_of(one) + cost_of(other);
        std::swap(processes[static_cast<size_t>(one)], processes[static_cast<size_t>(other)]);
        if (cost_of(one) + cost_of(other) < before) {
          better = true;
        } else {
          std::swap(processes[static_cast<size_t>(one)], processes[static_cast<size_t>(other)]);
        }
        steps -= static_cast<int64_t>(
            2 * (partners[static_cast<size_t>(one)].size() + partners[static_cast<size_t>(other)].size()) +
            1);
      }
    }
  }
}

/// Recursive partitioning along the tree given by the distances: splits the processes into the parts that are
/// farthest apart, splits the ranks into parts of the same sizes with little traffic between them, then
/// splits each part in the same way.
class TreeDivision {
 public:
  TreeDivision(const Partners& partners, const Distances& distances, int64_t& steps)
      : partners_(partners),
        distances_(distances),
        steps_(steps),
        processes_(partners.size(), -1),
        part_of_(partners.size(), -1) {}

  std::vector<int> run() {
    std::vector<int> all(partners_.size());
    std::iota(all.begin(), all.end(), 0);
    divide(all, all);
    return std::move(processes_);
  }

 private:
  using Numbers = std::vector<int>;

  /// Connected components of the processes under "nearer than the two farthest".
  std::vector<Numbers> parts_of(const Numbers& processes) const {
    int farthest = 0;
    for (const int one : processes) {
      for (const int other : processes) farthest = std::max(farthest, distances_.at(one, other));
    }
    std::vector<Numbers> parts;
    Numbers left = processes;
    while (!left.empty()) {
      Numbers part = {left.front()};
      left.erase(left.begin());
      for (size_t i = 0; i < part.size(); ++i) {
        std::erase_if(left, [&](int process) {
          if (distances_.at(part[i], process) >= farthest) return false;
          part.push_back(process);
          return true;
        });
      }
      parts.push_back(std::move(part));
    }
    return parts;
  }

  /// Takes `size` ranks out of `left`: repeatedly the rank with the most traffic to those taken before.
  Numbers grow(Numbers& left, size_t size) const {
    std::vector<int64_t> weights(partners_.size(), 0);
    Numbers taken;
    while (taken.size() < size) {
      const auto best = std::max_element(left.begin(), left.end(), [&](int one, int other) {
        return weights[static_cast<size_t>(one)] < weights[static_cast<size_t>(other)];
      });
      const int rank = *best;
      left.erase(best);
      taken.push_back(rank);
      for (const Partner& partner : partners_[static_cast<size_t>(rank)])
        weights[static_cast<size_t>(partner.rank)] += partner.weight;
    }
    return taken;
  }

  void divide(const Numbers& ranks, const Numbers& processes) {
    const std::vector<Numbers> parts = parts_of(processes);
    Numbers left = ranks;
    for (size_t part = 0; part < parts.size(); ++part) {
      const Numbers mine = grow(left, parts[part].size());
      for (size_t i = 0; i < mine.size(); ++i) {
        processes_[static_cast<size_t>(mine[i])] = parts[part][i];
        part_of_[static_cast<size_t>(parts[part][i])] = static_cast<int>(part);
      }
    }
    if (parts.size() < 2 || parts.size() == processes.size()) return;
    // Traffic with ranks outside of this part costs the same for every assignment within it, so it is left
    // out.
    std::vector<bool> inside(partners_.size(), false);
    for (const int process : processes) inside[static_cast<size_t>(process)] = true;
    improve(
        processes_, ranks, partners_,
        [&](int one, int other) {
          if (!inside[static_cast<size_t>(other)]) return 0;
          return part_of_[static_cast<size_t>(one)] != part_of_[static_cast<size_t>(other)] ? 1 : 0;
        },
        steps_);
    std::vector<Numbers> members(parts.size());
    for (const int rank : ranks) {
      const int process = processes_[static_cast<size_t>(rank)];
      members[static_cast<size_t>(part_of_[static_cast<size_t>(process)])].push_back(rank);
    }
    for (size_t part = 0; part < parts.size(); ++part) divide(members[part], parts[part]);
  }

  const Partners& partners_;
  const Distances& distances_;
  int64_t& steps_;
  std::vector<int> processes_;  // by rank
  std::vector<int> part_of_;    // by process, within the division at hand
};

/// Number of random perturbations: many for small jobs, few for large ones, which would take too long.
int shakes_for(int ranks) {
  return std::clamp(2048 / ranks, 1, 128);
}

/// Swaps the processes of some ranks pseudo-randomly; equal seeds give equal results on every process.
std::vector<int> shaken(std::vector<int> processes, uint32_t seed) {
  std::minstd_rand random(seed + 1);
  const auto ranks = static_cast<uint32_t>(processes.size());
  for (uint32_t swaps = ranks / 4 + 1; swaps > 0; --swaps) {
    const uint32_t one = static_cast<uint32_t>(random()) % ranks;
    std::swap(processes[one], processes[static_cast<uint32_t>(random()) % ranks]);
  }
  return processes;
}

}  // namespace

// Estimates in the order known of common machines: a cache line from a shared L2 takes about half the time of
// one from a shared L3, a line from another package several times that.
int distance_of(Relation relation) {
  switch (relation) {
    case Relation::self:
      return 0;
    case Relation::smt:
      return 1;
    case Relation::l2:
      return 2;
    case Relation::l3:
      return 4;
    case Relation::numa:
      return 8;
    case Relation::package:
      return 10;
    case Relation::machine:
    case Relation::unknown:
      return 16;
    case Relation::network:
      return 64;
  }
  return 0;
}

namespace {

// The firmware's distance between two memory nodes, scaled so that the distance within a node equals that of
// the relation `numa`; 0 if the firmware has none.
int distance_of_nodes(std::span<const MemoryNode> nodes, int one, int other) {
  if (one < 0 || other < 0 || one == other || static_cast<size_t>(one) >= nodes.size()) return 0;
  const std::vector<int>& distances = nodes[static_cast<size_t>(one)].distances;
  if (static_cast<size_t>(other) >= distances.size()) return 0;
  const int near = distance_of(Relation::numa);
  return std::max(near + 1, near * distances[static_cast<size_t>(other)] / 10);
}

}  // namespace

Distances Distances::between(std::span<const shm::RankPlace> places) {
  return between(places, {});
}

Distances Distances::between(std::span<const shm::RankPlace> places, std::span<const MemoryNode> nodes) {
  const int processes = static_cast<int>(places.size());
  Distances distances(processes);
  for (int one = 0; one < processes; ++one) {
    for (int other = one + 1; other < processes; ++other) {
      const shm::RankPlace& a = places[static_cast<size_t>(one)];
      const shm::RankPlace& b = places[static_cast<size_t>(other)];
      const int reported = distance_of_nodes(nodes, a.numa, b.numa);
      distances.set(one, other, reported > 0 ? reported : distance_of(relation_of(a, b)));
    }
  }
  return distances;
}

// Machines have few levels (shared cache, package, board), and the time of a cache line about doubles from
// one level to the next; within a level it varies by noise and position on the chip. So the times are sorted,
// a step of more than a quarter starts a new level, and the median of a level replaces all of its times.
Distances Distances::measured(int processes, std::span<const int> times_ns) {
  struct Pair {
    int time_ns;
    int one;
    int other;
  };
  std::vector<Pair> pairs;
  for (int one = 0; one < processes; ++one) {
    for (int other = one + 1; other < processes; ++other) {
      const auto place = static_cast<size_t>(one) * static_cast<size_t>(processes);
      pairs.push_back({times_ns[place + static_cast<size_t>(other)], one, other});
    }
  }
  std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.time_ns < b.time_ns; });
  Distances distances(processes);
  for (size_t begin = 0, end = 0; begin < pairs.size(); begin = end) {
    for (end = begin + 1; end < pairs.size(); ++end) {
      if (int64_t{pairs[end].time_ns} * 4 > int64_t{pairs[end - 1].time_ns} * 5) break;
    }
    const int middle_ns = pairs[begin + (end - begin) / 2].time_ns;
    for (size_t i = begin; i < end; ++i) distances.set(pairs[i].one, pairs[i].other, middle_ns);
  }
  return distances;
}

Distances Distances::first(int processes) const {
  Distances part(processes);
  for (int one = 0; one < processes; ++one) {
    for (int other = one + 1; other < processes; ++other) part.set(one, other, at(one, other));
  }
  return part;
}

bool Distances::uniform() const {
  for (int one = 0; one < processes_; ++one) {
    for (int other = one + 1; other < processes_; ++other) {
      if (at(one, other) != at(0, 1)) return false;
    }
  }
  return true;
}

int64_t cost_of(std::span<const int> processes, std::span<const Traffic> traffic,
                const Distances& distances) {
  int64_t cost = 0;
  for (const Traffic& edge : traffic) {
    cost += edge.weight * distances.at(processes[static_cast<size_t>(edge.one)],
                                       processes[static_cast<size_t>(edge.other)]);
  }
  return cost;
}

std::vector<int> arrange(std::span<const Traffic> traffic, const Distances& distances, int64_t steps_max) {
  std::vector<int> identity(static_cast<size_t>(distances.processes()));
  std::iota(identity.begin(), identity.end(), 0);
  // One pass over all pairs of ranks evaluates the traffic of both ranks, before and after the swap.
  const auto pass = 4 * static_cast<int64_t>(traffic.size()) * distances.processes();
  if (traffic.empty() || pass > steps_max || distances.uniform()) return identity;
  const Partners partners = partners_of(traffic, distances.processes());
  std::vector<int> best = identity;
  int64_t best_cost = cost_of(identity, traffic, distances);
  int64_t steps = steps_max;
  const auto keep_if_better = [&](std::vector<int> candidate) {
    improve(
        candidate, identity, partners, [&](int one, int other) { return distances.at(one, other); }, steps);
    const int64_t cost = cost_of(candidate, traffic, distances);
    if (cost >= best_cost) return;
    best = std::move(candidate);
    best_cost = cost;
  };
  keep_if_better(identity);
  keep_if_better(place_greedily(partners, distances));
  keep_if_better(TreeDivision(partners, distances, steps).run());
  for (int turn = 0; turn < shakes_for(distances.processes()) && steps > 0; ++turn) {
    keep_if_better(shaken(best, static_cast<uint32_t>(turn)));
  }
  return best;
}

}  // namespace hearth::topo
