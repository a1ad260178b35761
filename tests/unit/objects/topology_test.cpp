#include "objects/topology.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <functional>

#include "mpi.h"

namespace hearth::objects {
namespace {

using Ints = std::vector<int>;

Ints chosen(int nodes, Ints dims) {
  EXPECT_TRUE(choose_dimensions(nodes, dims).ok()) << nodes;
  return dims;
}

int error_of(int nodes, Ints dims) {
  return choose_dimensions(nodes, dims).error_class();
}

TEST(ChooseDimensions, Examples) {
  EXPECT_EQ(chosen(6, {0, 0}), (Ints{3, 2}));
  EXPECT_EQ(chosen(7, {0, 0}), (Ints{7, 1}));
  EXPECT_EQ(chosen(6, {0, 3, 0}), (Ints{2, 3, 1}));
  EXPECT_EQ(chosen(1, {0, 0, 0}), (Ints{1, 1, 1}));
  EXPECT_EQ(chosen(16, {0, 0, 0}), (Ints{4, 2, 2}));
  EXPECT_EQ(chosen(36, {0, 0, 0}), (Ints{4, 3, 3}));
  EXPECT_EQ(chosen(12, {12}), (Ints{12}));
  EXPECT_EQ(chosen(5, {}), Ints{});
  // Assigning prime factors from the largest down would lead to 10 x 6 x 4 and the like.
  EXPECT_EQ(chosen(240, {0, 0, 0}), (Ints{8, 6, 5}));
  EXPECT_EQ(chosen(1440, {0, 0, 0}), (Ints{12, 12, 10}));
}

TEST(ChooseDimensions, Errors) {
  EXPECT_EQ(error_of(7, {2, 0}), MPI_ERR_DIMS);
  EXPECT_EQ(error_of(6, {2, 2}), MPI_ERR_DIMS);
  EXPECT_EQ(error_of(6, {-1, 0}), MPI_ERR_DIMS);
  EXPECT_EQ(error_of(6, {INT_MAX, INT_MAX, INT_MAX, INT_MAX, 0}), MPI_ERR_DIMS);
  EXPECT_EQ(error_of(0, {0}), MPI_ERR_ARG);
  EXPECT_EQ(error_of(-4, {0, 0}), MPI_ERR_ARG);
}

/// The least difference between the largest and the smallest of `factors` factors, by exhaustive search.
int least_difference(int nodes, int factors) {
  int least = INT_MAX;
  const std::function<void(int, int, int, int)> look = [&](int rest, int left, int first, int largest) {
    if (left == 1) {
      if (rest <= largest) least = std::min(least, std::max(first, rest) - rest);
      return;
    }
    for (int factor = 1; factor <= std::min(rest, largest); ++factor) {
      if (rest % factor == 0) look(rest / factor, left - 1, std::max(first, factor), factor);
    }
  };
  look(nodes, factors, 0, nodes);
  return least;
}

TEST(ChooseDimensions, NoneIsNearer) {
  for (int factors = 1; factors <= 4; ++factors) {
    for (int nodes = 1; nodes <= 400; ++nodes) {
      const Ints dims = chosen(nodes, Ints(static_cast<size_t>(factors)));
      int product = 1;
      for (const int length : dims) product *= length;
      ASSERT_EQ(product, nodes);
      ASSERT_TRUE(std::is_sorted(dims.rbegin(), dims.rend())) << nodes;
      ASSERT_EQ(dims.front() - dims.back(), least_difference(nodes, factors)) << nodes << " in " << factors;
    }
  }
}

TEST(ChooseDimensions, LargeNumbersTakeNoTime) {
  EXPECT_EQ(chosen(INT_MAX, {0, 0}), (Ints{INT_MAX, 1}));
  EXPECT_EQ(chosen(1 << 30, {0, 0, 0}), (Ints{1024, 1024, 1024}));
  // 2^6 3^3 5^2 7 11 13: many divisors.
  const Ints dims = chosen(43'243'200, Ints(8));
  // 13, 11 and 7 are factors of their own, and the other five cannot all be 7 or more.
  EXPECT_EQ(dims.front() - dims.back(), 7);
  const Ints many = chosen(43'243'200, Ints(40));
  EXPECT_EQ(many.front(), 13);
  EXPECT_EQ(many.back(), 1);
}

TEST(Cartesian, RanksAndCoordinates) {
  const Cartesian grid{{2, 3, 4}, {0, 1, 0}};
  EXPECT_EQ(grid.size(), 24);
  for (int rank = 0; rank < 24; ++rank) EXPECT_EQ(grid.rank_of(grid.coordinates_of(rank)), rank);
  EXPECT_EQ(grid.coordinates_of(23), (Ints{1, 2, 3}));
  EXPECT_EQ(grid.coordinates_of(4), (Ints{0, 1, 0}));
  EXPECT_EQ(grid.rank_of(Ints{0, -1, 0}), grid.rank_of(Ints{0, 2, 0}));
  EXPECT_EQ(grid.rank_of(Ints{0, 7, 0}), grid.rank_of(Ints{0, 1, 0}));
}

TEST(Cartesian, Neighbors) {
  const Cartesian grid{{2, 3}, {0, 1}};
  EXPECT_EQ(grid.neighbor(0, 0, 1), 3);
  EXPECT_EQ(grid.neighbor(0, 0, -1), MPI_PROC_NULL);
  EXPECT_EQ(grid.neighbor(3, 0, 1), MPI_PROC_NULL);
  EXPECT_EQ(grid.neighbor(0, 1, -1), 2);
  EXPECT_EQ(grid.neighbor(2, 1, 1), 0);
  EXPECT_EQ(grid.neighbor(1, 1, -int64_t{INT_MIN}), grid.neighbor(1, 1, 2));  // 2^31 = 2 modulo 3
  EXPECT_EQ(grid.neighbor(1, 0, INT_MAX), MPI_PROC_NULL);
  const Topology topology = make_cartesian(grid, 0);
  EXPECT_EQ(topology.sources, (Ints{MPI_PROC_NULL, 3, 2, 1}));
  EXPECT_EQ(topology.destinations, topology.sources);
}

TEST(Cartesian, WithoutDimensions) {
  const Cartesian grid;
  EXPECT_EQ(grid.size(), 1);
  EXPECT_EQ(grid.rank_of({}), 0);
  EXPECT_TRUE(make_cartesian(grid, 0).sources.empty());
}

TEST(Graph, Neighbors) {
  const Graph graph{{2, 3, 3, 6}, {1, 3, 0, 0, 2, 3}};
  const auto of = [&](int rank) {
    const auto found = graph.neighbors(rank);
    return Ints(found.begin(), found.end());
  };
  EXPECT_EQ(of(0), (Ints{1, 3}));
  EXPECT_EQ(of(1), (Ints{0}));
  EXPECT_EQ(of(2), Ints{});
  EXPECT_EQ(of(3), (Ints{0, 2, 3}));
}

}  // namespace
}  // namespace hearth::objects
