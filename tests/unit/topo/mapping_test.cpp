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

/// The grid's edges between neighbours, of ranks in the order of MPI_Cart_create.
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

// Ranks dealt out over two caches in turn, talking in a row: half of the row goes to each cache.
TEST(Mapping, ARowThatWasDealtOutIsPutTogether) {
  std::vector<shm::RankPlace> places;
  for (int i = 0; i < 8; ++i) places.push_back(core(i % 2 * 4 + i / 2, 4, 1));
  const Distances distances = Distances::between(places);
  const std::vector<Traffic> row = grid(1, 8);
  const std::vector<int> processes = arrange(row, distances);
  EXPECT_TRUE(is_permutation(processes));
  // Six edges inside the caches and one between them: no order does better.
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

// Large jobs are arranged in a moment, and never for the worse.
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
