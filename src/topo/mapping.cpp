#include "topo/mapping.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

namespace hearth::topo {
namespace {

/// A rank that one rank talks with.
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

/// What one rank's traffic costs on a process. Partners without a process yet (-1) cost nothing.
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

/// One rank after the other, always the one that talks most with those that have a process, onto the process
/// where that costs least.
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

/// Swaps the processes of two ranks wherever that costs less, until it nowhere does or enough has been tried.
void improve(std::vector<int>& processes, const Partners& partners, const Distances& distances) {
  constexpr int kPassesMax = 8;
  const auto cost_of_both = [&](size_t one, size_t other) {
    return cost_at(partners[one], processes[one], processes, distances) +
           cost_at(partners[other], processes[other], processes, distances);
  };
  for (int pass = 0; pass < kPassesMax; ++pass) {
    bool better = false;
    for (size_t one = 0; one < processes.size(); ++one) {
      for (size_t other = one + 1; other < processes.size(); ++other) {
        const int64_t before = cost_of_both(one, other);
        std::swap(processes[one], processes[other]);
        if (cost_of_both(one, other) < before) {
          better = true;
        } else {
          std::swap(processes[one], processes[other]);
        }
      }
    }
    if (!better) return;
  }
}

/// How often to try again from a shaken order: small jobs get the best there is, large ones are done in time.
int shakes_for(int ranks) {
  return std::clamp(2048 / ranks, 1, 128);
}

/// With some ranks' processes swapped at random, the same in every process.
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

// Guesses in the order of what is known of machines: a line out of a shared second-level cache takes about
// half the time of one out of a shared third-level cache, one from another package several times that.
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
  }
  return 0;
}

Distances Distances::between(std::span<const shm::RankPlace> places) {
  const int processes = static_cast<int>(places.size());
  Distances distances(processes);
  for (int one = 0; one < processes; ++one) {
    for (int other = one + 1; other < processes; ++other) {
      distances.set(
          one, other,
          distance_of(relation_of(places[static_cast<size_t>(one)], places[static_cast<size_t>(other)])));
    }
  }
  return distances;
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

std::vector<int> arrange(std::span<const Traffic> traffic, const Distances& distances) {
  std::vector<int> identity(static_cast<size_t>(distances.processes()));
  std::iota(identity.begin(), identity.end(), 0);
  // A pass over all pairs of ranks looks at the traffic of both: beyond this, seconds would go by.
  constexpr int64_t kWorkMax = 8'000'000;
  const auto work = static_cast<int64_t>(traffic.size()) * distances.processes();
  if (traffic.empty() || work > kWorkMax || distances.uniform()) return identity;
  const Partners partners = partners_of(traffic, distances.processes());
  std::vector<int> best = identity;
  int64_t best_cost = cost_of(identity, traffic, distances);
  const auto keep_if_better = [&](std::vector<int> candidate) {
    improve(candidate, partners, distances);
    const int64_t cost = cost_of(candidate, traffic, distances);
    if (cost >= best_cost) return;
    best = std::move(candidate);
    best_cost = cost;
  };
  keep_if_better(identity);
  keep_if_better(place_greedily(partners, distances));
  for (int turn = 0; turn < shakes_for(distances.processes()); ++turn) {
    keep_if_better(shaken(best, static_cast<uint32_t>(turn)));
  }
  return best;
}

}  // namespace hearth::topo
