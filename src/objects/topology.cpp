#include "objects/topology.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <utility>

#include "mpi.h"

namespace hearth::objects {

int Cartesian::size() const {
  int product = 1;
  for (const int length : dims) product *= length;
  return product;
}

int Cartesian::rank_of(std::span<const int> coordinates) const {
  int rank = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int around = coordinates[i] % dims[i];
    rank = rank * dims[i] + (around < 0 ? around + dims[i] : around);
  }
  return rank;
}

std::vector<int> Cartesian::coordinates_of(int rank) const {
  std::vector<int> coordinates(dims.size());
  for (size_t i = dims.size(); i > 0; --i) {
    coordinates[i - 1] = rank % dims[i - 1];
    rank /= dims[i - 1];
  }
  return coordinates;
}

int Cartesian::neighbor(int rank, int dimension, int64_t displacement) const {
  const auto i = static_cast<size_t>(dimension);
  std::vector<int> coordinates = coordinates_of(rank);
  const int64_t place = coordinates[i] + displacement;
  if (periods[i] == 0 && (place < 0 || place >= dims[i])) return MPI_PROC_NULL;
  coordinates[i] = static_cast<int>(place % dims[i]);
  return rank_of(coordinates);
}

std::span<const int> Graph::neighbors(int rank) const {
  const auto end = static_cast<size_t>(index[static_cast<size_t>(rank)]);
  const auto begin = rank == 0 ? size_t{0} : static_cast<size_t>(index[static_cast<size_t>(rank) - 1]);
  return std::span(edges).subspan(begin, end - begin);
}

Topology make_cartesian(Cartesian grid, int rank) {
  Topology topology;
  for (int dimension = 0; dimension < grid.dimensions(); ++dimension) {
    topology.sources.push_back(grid.neighbor(rank, dimension, -1));
    topology.sources.push_back(grid.neighbor(rank, dimension, 1));
  }
  topology.destinations = topology.sources;
  topology.shape = std::move(grid);
  return topology;
}

Topology make_graph(Graph graph, int rank) {
  Topology topology;
  const std::span<const int> neighbors = graph.neighbors(rank);
  topology.sources.assign(neighbors.begin(), neighbors.end());
  topology.destinations = topology.sources;
  topology.shape = std::move(graph);
  return topology;
}

namespace {

/// In rising order.
std::vector<int> divisors_of(int number) {
  std::vector<int> low;
  std::vector<int> high;
  for (int i = 1; int64_t{i} * i <= number; ++i) {
    if (number % i != 0) continue;
    low.push_back(i);
    if (number / i != i) high.push_back(number / i);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

/// Whether `factors` factors of at most `largest` can have a product of at least `product`.
bool within_reach(int64_t product, int factors, int64_t largest) {
  int64_t most = 1;
  for (int i = 0; i < factors && most < product; ++i) most *= largest;
  return most >= product;
}

/// Splits a number into factors in falling order: depth-first search that prunes branches that cannot improve
/// the best result.
class Division {
 public:
  Division(int nodes, int factors) : divisors_(divisors_of(nodes)), current_(static_cast<size_t>(factors)) {
    descend(0, nodes, nodes);
  }
  const std::vector<int>& best() const { return best_; }

 private:
  // `rest` is the product of the factors from `place` on; none may exceed `largest`.
  void descend(size_t place, int rest, int largest) {
    const int left = static_cast<int>(current_.size() - place);
    if (left == 1) {
      if (rest > largest) return;
      current_[place] = rest;
      const int difference = current_.front() - rest;
      if (difference >= least_difference_) return;
      least_difference_ = difference;
      best_ = current_;
      return;
    }
    for (const int factor : divisors_) {
      if (factor > largest || factor > rest) return;
      if (rest % factor != 0 || !within_reach(rest, left, factor)) continue;
      current_[place] = factor;
      // The last factor is at most this root of the rest. That bounds the difference from below, and the
      // bound rises with this factor.
      const double last_max = std::pow(static_cast<double>(rest / factor), 1.0 / (left - 1));
      if (current_.front() - std::floor(last_max + 1e-9) >= least_difference_) return;
      descend(place + 1, rest / factor, factor);
    }
  }

  const std::vector<int> divisors_;
  std::vector<int> current_;
  std::vector<int> best_;
  int least_difference_ = INT_MAX;
};

}  // namespace

Status choose_dimensions(int nodes, std::span<int> dims) {
  if (nodes <= 0) return fail(MPI_ERR_ARG, "nnodes is %d: it must be positive", nodes);
  int64_t fixed = 1;
  int free = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) return fail(MPI_ERR_DIMS, "dims[%zu] is %d: it must be 0 or positive", i, dims[i]);
    if (dims[i] == 0) {
      ++free;
    } else if (fixed <= nodes) {
      fixed *= dims[i];
    }
  }
  if (nodes % fixed != 0 || (free == 0 && fixed != nodes && !dims.empty())) {
    return fail(MPI_ERR_DIMS,
                "%d nodes cannot be a grid whose fixed dimensions have %lld places. Remedy: leave dimensions "
                "open (0), or give ones that divide the number of nodes",
                nodes, static_cast<long long>(fixed));
  }
  if (free == 0) return {};
  const Division division(nodes / static_cast<int>(fixed), free);
  auto next = division.best().begin();
  for (int& length : dims) {
    if (length == 0) length = *next++;
  }
  return {};
}

}  // namespace hearth::objects
