// Topologies: who are the neighbours of a process in a communicator (MPI 5.0 chapter 8). Belongs to a
// communicator and its duplicates; immutable once made. Arguments have been checked.
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
  /// Coordinates beyond a periodic dimension count around it.
  int rank_of(std::span<const int> coordinates) const;
  std::vector<int> coordinates_of(int rank) const;
  /// The rank `displacement` steps on; MPI_PROC_NULL beyond an edge.
  int neighbor(int rank, int dimension, int64_t displacement) const;
};

/// All ranks' neighbours: those of rank r are edges[index[r - 1]] to edges[index[r] - 1].
struct Graph {
  std::vector<int> index;
  std::vector<int> edges;

  std::span<const int> neighbors(int rank) const;
};

/// This process's edges are Topology::sources and destinations; here are their weights, if they have any.
struct DistributedGraph {
  bool weighted = false;
  std::vector<int> source_weights;
  std::vector<int> destination_weights;
};

struct Topology {
  std::variant<Cartesian, Graph, DistributedGraph> shape;
  /// With whom this process talks in neighbourhood collectives, a block of the buffers each; MPI_PROC_NULL
  /// beyond the edge of a grid. Of a grid: for each dimension the neighbour below, then the one above.
  std::vector<int> sources;
  std::vector<int> destinations;

  const Cartesian* cartesian() const { return std::get_if<Cartesian>(&shape); }
  const Graph* graph() const { return std::get_if<Graph>(&shape); }
  const DistributedGraph* distributed_graph() const { return std::get_if<DistributedGraph>(&shape); }
};

Topology make_cartesian(Cartesian grid, int rank);
Topology make_graph(Graph graph, int rank);

/// Fills in the dimensions that are 0, so that their product is `nodes` and they are as near to each other as
/// possible: least difference between the largest and the smallest; of equals, the smaller largest ones. In
/// falling order. MPI_ERR_DIMS where that is not possible.
Status choose_dimensions(int nodes, std::span<int> dims);

}  // namespace hearth::objects
