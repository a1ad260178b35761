// Topologies: the neighbours of a process in a communicator (MPI 5.0 chapter 8). Belongs to a communicator
// and its duplicates; immutable after creation. Callers have checked the arguments.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "base/status.h"

namespace hearth::objects {

/// A grid. Ranks are in row-major order of their coordinates.
struct Cartesian {
  std::vector<int> dims;
  std::vector<int> periods;  // 0 or 1

  int dimensions() const { return static_cast<int>(dims.size()); }
  int size() const;
  /// Coordinates outside of a periodic dimension wrap around.
  int rank_of(std::span<const int> coordinates) const;
  std::vector<int> coordinates_of(int rank) const;
  /// The rank at a distance of `displacement` along a dimension; MPI_PROC_NULL beyond an edge.
  int neighbor(int rank, int dimension, int64_t displacement) const;
};

/// The neighbours of all ranks: those of rank r are edges[index[r - 1]] to edges[index[r] - 1].
struct Graph {
  std::vector<int> index;
  std::vector<int> edges;

  std::span<const int> neighbors(int rank) const;
};

/// This process's edges are Topology::sources and destinations; these are their weights, if any.
struct DistributedGraph {
  bool weighted = false;
  std::vector<int> source_weights;
  std::vector<int> destination_weights;
};

struct Topology {
  std::variant<Cartesian, Graph, DistributedGraph> shape;
  /// The peers of this process in neighbourhood collectives, one block of the buffers each; MPI_PROC_NULL
  /// beyond the edge of a grid. In a grid, for each dimension the neighbour below, then the one above.
  std::vector<int> sources;
  std::vector<int> destinations;

  const Cartesian* cartesian() const { return std::get_if<Cartesian>(&shape); }
  const Graph* graph() const { return std::get_if<Graph>(&shape); }
  const DistributedGraph* distributed_graph() const { return std::get_if<DistributedGraph>(&shape); }
};

Topology make_cartesian(Cartesian grid, int rank);
Topology make_graph(Graph graph, int rank);

/// Fills in the dimensions that are 0, in falling order, so that the product of all is `nodes` and they are
/// as close to each other as possible: the least difference between the largest and the smallest; among
/// equals, the smaller largest ones. MPI_ERR_DIMS if that is not possible.
Status choose_dimensions(int nodes, std::span<int> dims);

}  // namespace hearth::objects
