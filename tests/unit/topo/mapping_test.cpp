#include "topo/mapping.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace hearth::topo {
namespace {

std::vector<int> identity(int ranks) {
  std::vector<int> processes(static_cast<size_t>(ranks));
  std::iota(processes.begin(), processes.end(), 0);
  return processes;
}

bool is_permutation(std::vector<int> processes) {
  std::sort(processes.begin(), processes.end());
  return processes == identity(static_cast<int>(processes.size()));
}

/// Cores 0..n-1, `cores` of which share a third-level cache, `caches` of which lie in a package.
shm::RankPlace core(int number, int cores, int caches) {
  return {number / (cores * caches), number / (cores * caches), number / cores, number, number, number};
}

/// The edges between neighbours of a grid, with ranks in the order of MPI_Cart_create.
std::vector<Traffic> grid(int rows, int columns) {
  std::vector<Traffic> traffic;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const int rank = row * columns + column;
      if (column + 1 < columns) traffic.push_back({rank, rank + 1, 1});
      if (row + 1 < rows) traffic.push_back({rank, rank + columns, 1});
    }
  }
  return traffic;
}

TEST(Mapping, EquallyFarApartNothingMoves) {
  const std::vector<shm::RankPlace> places(6, {-1, -1, -1, -1, -1, -1});
  const Distances distances = Distances::between(places);
  EXPECT_TRUE(distances.uniform());
  EXPECT_EQ(arrange(grid(2, 3), distances), identity(6));
}

TEST(Mapping, WithoutTrafficNothingMoves) {
  std::vector<shm::RankPlace> places;
  for (int i = 0; i < 4; ++i) places.push_back(core(i, 2, 1));
  EXPECT_EQ(arrange({}, Distances::between(places)), identity(4));
}

TEST(Mapping, DistancesFollowRelations) {
  const std::vector<shm::RankPlace> places = {core(0, 2, 2), core(1, 2, 2), core(2, 2, 2), core(4, 2, 2)};
  const Distances distances = Distances::between(places);
  EXPECT_EQ(distances.at(0, 0), 0);
  EXPECT_EQ(distances.at(0, 1), distance_of(Relation::l3));
  EXPECT_EQ(distances.at(2, 0), distance_of(Relation::numa));
  EXPECT_EQ(distances.at(0, 3), distance_of(Relation::machine));
  EXPECT_FALSE(distances.uniform());
}

TEST(Mapping, NearerIsNeverFarther) {
  for (int relation = 1; relation < kRelations; ++relation) {
    EXPECT_LE(distance_of(static_cast<Relation>(relation - 1)), distance_of(static_cast<Relation>(relation)));
  }
}

// Ranks on two caches alternately, with traffic along a row: half of the row belongs on each cache.
TEST(Mapping, ARowThatWasDealtOutIsPutTogether) {
  std::vector<shm::RankPlace> places;
  for (int i = 0; i < 8; ++i) places.push_back(core(i % 2 * 4 + i / 2, 4, 1));
  const Distances distances = Distances::between(places);
  const std::vector<Traffic> row = grid(1, 8);
  const std::vector<int> processes = arrange(row, distances);
  EXPECT_TRUE(is_permutation(processes));
  // Six edges inside the caches and one between them are the optimum.
  EXPECT_EQ(cost_of(processes, row, distances),
            6 * distance_of(Relation::l3) + distance_of(Relation::machine));
  EXPECT_GT(cost_of(identity(8), row, distances), cost_of(processes, row, distances));
}

// A 4 x 4 grid on four caches with four cores each: a square of 2 x 2 for each cache cuts 8 edges, rows
// cut 12.
TEST(Mapping, AGridIsCutIntoSquares) {
  std::vector<shm::RankPlace> places;
  for (int i = 0; i < 16; ++i) places.push_back(core(i, 4, 4));
  const Distances distances = Distances::between(places);
  const std::vector<int> processes = arrange(grid(4, 4), distances);
  EXPECT_TRUE(is_permutation(processes));
  EXPECT_EQ(cost_of(processes, grid(4, 4), distances),
            16 * distance_of(Relation::l3) + 8 * distance_of(Relation::numa));
}

TEST(Mapping, HeavyNeighboursShareACache) {
  std::vector<shm::RankPlace> places;
  for (int i = 0; i < 4; ++i) places.push_back(core(i, 2, 1));
  const std::vector<Traffic> traffic = {{0, 1, 1}, {0, 3, 1000}, {1, 2, 1000}, {2, 3, 1}};
  const Distances distances = Distances::between(places);
  const std::vector<int> processes = arrange(traffic, distances);
  EXPECT_EQ(processes[0] / 2, processes[3] / 2);
  EXPECT_EQ(processes[1] / 2, processes[2] / 2);
}

TEST(Mapping, WhatIsGoodStays) {
  std::vector<shm::RankPlace> places;
  for (int i = 0; i < 8; ++i) places.push_back(core(i, 4, 2));
  EXPECT_EQ(arrange(grid(1, 8), Distances::between(places)), identity(8));
}

/// Groups of `size` ranks with much traffic inside and little with all other ranks. The membership looks
/// random.
std::vector<Traffic> hidden_groups(int ranks, int size) {
  std::vector<Traffic> traffic;
  for (int one = 0; one < ranks; ++one) {
    for (int other = one + 1; other < ranks; ++other) {
      const bool together = one * 37 % ranks / size == other * 37 % ranks / size;
      traffic.push_back({one, other, together ? 100 : 1 + (one * 7 + other * 13) % 5});
    }
  }
  return traffic;
}

// The optimum is one cache per group: all heavy edges inside, all light ones outside.
TEST(Mapping, HiddenGroupsAreFound) {
  for (const int ranks : {8, 16, 32, 64, 128}) {
    const int size = ranks >= 64 ? 8 : 4;
    std::vector<shm::RankPlace> places;
    for (int i = 0; i < ranks; ++i) places.push_back(core(i, size, ranks / size));
    const Distances distances = Distances::between(places);
    const std::vector<Traffic> traffic = hidden_groups(ranks, size);
    std::vector<int> optimum;
    for (int rank = 0; rank < ranks; ++rank) optimum.push_back(rank * 37 % ranks);
    const std::vector<int> processes = arrange(traffic, distances);
    EXPECT_TRUE(is_permutation(processes));
    EXPECT_EQ(cost_of(processes, traffic, distances), cost_of(optimum, traffic, distances)) << ranks;
    EXPECT_LT(cost_of(processes, traffic, distances), cost_of(identity(ranks), traffic, distances)) << ranks;
  }
}

// Groups of groups, on two packages of four caches each.
TEST(Mapping, GroupsWithinGroupsAreFound) {
  constexpr int kRanks = 32;
  std::vector<shm::RankPlace> places;
  for (int i = 0; i < kRanks; ++i) places.push_back(core(i, 4, 4));
  std::vector<Traffic> traffic;
  std::vector<int> optimum;
  for (int one = 0; one < kRanks; ++one) {
    optimum.push_back(one * 11 % kRanks);
    for (int other = one + 1; other < kRanks; ++other) {
      const int a = one * 11 % kRanks;
      const int b = other * 11 % kRanks;
      traffic.push_back({one, other, a / 4 == b / 4 ? 1000 : a / 16 == b / 16 ? 100 : 1});
    }
  }
  const Distances distances = Distances::between(places);
  EXPECT_EQ(cost_of(arrange(traffic, distances), traffic, distances), cost_of(optimum, traffic, distances));
}

TEST(Mapping, WithoutTimeToLookNothingMoves) {
  std::vector<shm::RankPlace> places;
  for (int i = 0; i < 16; ++i) places.push_back(core(i * 5 % 16, 4, 2));
  const Distances distances = Distances::between(places);
  EXPECT_EQ(arrange(hidden_groups(16, 4), distances, 100), identity(16));
}

// A ring of four packages, in which opposite packages are farther apart: the relation alone cannot express
// this.
TEST(Mapping, WaysBetweenMemoryNodesCount) {
  std::vector<MemoryNode> nodes(4);
  for (int one = 0; one < 4; ++one) {
    for (int other = 0; other < 4; ++other) {
      const int steps = std::min((one - other + 4) % 4, (other - one + 4) % 4);
      nodes[static_cast<size_t>(one)].distances.push_back(10 + 10 * steps);
    }
  }
  std::vector<shm::RankPlace> places;
  for (int i = 0; i < 4; ++i) places.push_back({i, i, -1, -1, i, i});
  const Distances distances = Distances::between(places, nodes);
  EXPECT_EQ(distances.at(0, 1), 2 * distance_of(Relation::numa));
  EXPECT_EQ(distances.at(0, 2), 3 * distance_of(Relation::numa));
  const std::vector<Traffic> opposite = {{0, 2, 10}, {1, 3, 10}};
  EXPECT_EQ(cost_of(arrange(opposite, distances), opposite, distances), 2 * 10 * distances.at(0, 1));
  EXPECT_TRUE(Distances::between(places).uniform());
}

/// Times above the diagonal: `near_ns` between processes of the same group, `far_ns` between different
/// groups, each with a small deviation.
std::vector<int> times_between(const std::vector<int>& groups, int near_ns, int far_ns) {
  const size_t count = groups.size();
  std::vector<int> times_ns(count * count);
  for (size_t one = 0; one < count; ++one) {
    for (size_t other = one + 1; other < count; ++other) {
      const int time_ns = groups[one] == groups[other] ? near_ns : far_ns;
      times_ns[one * count + other] = time_ns + static_cast<int>(one * 5 + other * 3) % 7 * time_ns / 50;
    }
  }
  return times_ns;
}

TEST(Mapping, TimesThatDifferByChanceCountAsEqual) {
  const Distances distances = Distances::measured(6, times_between({0, 0, 0, 0, 0, 0}, 50, 50));
  EXPECT_TRUE(distances.uniform());
  EXPECT_GE(distances.at(2, 4), 50);
  EXPECT_LE(distances.at(2, 4), 56);
  EXPECT_EQ(distances.at(3, 3), 0);
  EXPECT_EQ(arrange(grid(2, 3), distances), identity(6));
}

TEST(Mapping, LevelsComeOutOfTimes) {
  const Distances distances = Distances::measured(4, times_between({0, 1, 1, 2}, 60, 140));
  EXPECT_FALSE(distances.uniform());
  EXPECT_LT(distances.at(1, 2), 70);
  EXPECT_GE(distances.at(0, 1), 140);
  EXPECT_EQ(distances.at(0, 1), distances.at(3, 2));
  EXPECT_EQ(distances.at(0, 1), distances.at(1, 0));
}

TEST(Mapping, TheFirstFewKeepTheirDistances) {
  const Distances distances = Distances::measured(4, times_between({0, 1, 1, 1}, 60, 140));
  EXPECT_FALSE(distances.first(3).uniform());
  EXPECT_EQ(distances.first(3).processes(), 3);
  EXPECT_EQ(distances.first(3).at(0, 2), distances.at(0, 2));
  EXPECT_TRUE(distances.first(2).uniform());
}

// A machine that reports cores 0 to 3 in one package and 4 to 7 in another, although even and odd cores are
// close to each other: the measured times count.
TEST(Mapping, MeasuredTimesWinOverWhatIsReported) {
  std::vector<shm::RankPlace> places;
  std::vector<int> truth;
  for (int i = 0; i < 8; ++i) {
    places.push_back(core(i, 4, 1));
    truth.push_back(i % 2);
  }
  const std::vector<Traffic> row = grid(1, 8);
  EXPECT_EQ(arrange(row, Distances::between(places)), identity(8));
  const std::vector<int> processes = arrange(row, Distances::measured(8, times_between(truth, 60, 180)));
  EXPECT_TRUE(is_permutation(processes));
  int crossings = 0;
  for (size_t rank = 1; rank < 8; ++rank) crossings += processes[rank] % 2 != processes[rank - 1] % 2;
  EXPECT_EQ(crossings, 1);
}

// Large jobs are mapped quickly, and never worse than before.
TEST(Mapping, ManyRanks) {
  std::vector<shm::RankPlace> places;
  for (int i = 0; i < 128; ++i) places.push_back(core(i * 37 % 128, 8, 8));
  const Distances distances = Distances::between(places);
  const std::vector<Traffic> traffic = grid(8, 16);
  const std::vector<int> processes = arrange(traffic, distances);
  EXPECT_TRUE(is_permutation(processes));
  EXPECT_LT(cost_of(processes, traffic, distances), cost_of(identity(128), traffic, distances) * 2 / 3);
}

}  // namespace
}  // namespace hearth::topo
