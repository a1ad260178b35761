// MPI 5.0 sections 8.5.3 to 8.5.5, 8.5.8: graph topologies. In a distributed graph each process knows only
// its own neighbours. Edges that other processes specify are gathered by all, and each process keeps its own.
#include <algorithm>
#include <memory>
#include <utility>

#include "abi/arrangement.h"
#include "abi/comm_making.h"
#include "abi/requests.h"
#include "coll/coll.h"
#include "coll/schedule.h"
#include "hearth_calls.h"
#include "mpi.h"
#include "objects/topology.h"

namespace hearth::mpi {
namespace {

using abi::Words;
using objects::Comm;
using objects::DistributedGraph;
using objects::Graph;
using objects::Info;
using objects::Topology;

void set_topology(Comm* comm, Topology topology) {
  comm->topology = std::make_shared<const Topology>(std::move(topology));
}

Status check_intra(const Comm& comm) {
  if (!comm.is_inter()) return {};
  return fail(MPI_ERR_COMM, "an intercommunicator cannot be a graph");
}

Status check_array(const void* array, int64_t entries, const char* name) {
  if (array != nullptr || entries == 0) return {};
  return fail(MPI_ERR_ARG, "%s is a null pointer", name);
}

Status check_ranks(const int* ranks, int64_t entries, int size, const char* name) {
  HEARTH_TRY(check_array(ranks, entries, name));
  for (int64_t i = 0; i < entries; ++i) {
    if (ranks[i] < 0 || ranks[i] >= size) {
      return fail(MPI_ERR_RANK, "%s[%lld] is %d, but the ranks are 0 to %d", name, static_cast<long long>(i),
                  ranks[i], size - 1);
    }
  }
  return {};
}

Status check_weights(const int* weights, int64_t entries, const char* name) {
  if (weights == MPI_UNWEIGHTED || entries == 0) return {};
  if (weights == MPI_WEIGHTS_EMPTY) {
    return fail(MPI_ERR_ARG, "%s is MPI_WEIGHTS_EMPTY, but there are %lld edges", name,
                static_cast<long long>(entries));
  }
  HEARTH_TRY(check_array(weights, entries, name));
  for (int64_t i = 0; i < entries; ++i) {
    if (weights[i] < 0) {
      return fail(MPI_ERR_ARG, "%s[%lld] is %d: it must not be negative", name, static_cast<long long>(i),
                  weights[i]);
    }
  }
  return {};
}

Status graph_of(const Comm& comm, const Graph*& graph) {
  graph = comm.topology == nullptr ? nullptr : comm.topology->graph();
  if (graph != nullptr) return {};
  return fail(MPI_ERR_TOPOLOGY, "the communicator is no graph. Remedy: MPI_Graph_create makes one");
}

Status read_graph(const Comm& comm, int nnodes, const int* indx, const int* edges, Graph& graph) {
  HEARTH_TRY(check_intra(comm));
  if (nnodes > comm.size) {
    return fail(MPI_ERR_ARG, "the graph has %d nodes, but the communicator %d processes", nnodes, comm.size);
  }
  int before = 0;
  for (int i = 0; i < nnodes; ++i) {
    if (indx[i] < before) return fail(MPI_ERR_ARG, "index[%d] is %d: it must not fall", i, indx[i]);
    before = indx[i];
  }
  HEARTH_TRY(check_ranks(edges, before, nnodes, "edges"));
  graph.index.assign(indx, indx + nnodes);
  graph.edges.assign(edges, edges + before);
  return {};
}

void add_traffic(int one, int other, int64_t weight, std::vector<topo::Traffic>& traffic) {
  if (one != other) traffic.push_back({one, other, weight});
}

std::vector<int> arrange(const Graph& graph, const topo::Distances& distances) {
  std::vector<topo::Traffic> traffic;
  const int nodes = static_cast<int>(graph.index.size());
  for (int rank = 0; rank < nodes; ++rank) {
    for (const int neighbor : graph.neighbors(rank)) add_traffic(rank, neighbor, 1, traffic);
  }
  return abi::arrange(nodes, traffic, distances);
}

}  // namespace

Status graph_create(Comm& comm_old, int nnodes, const int* indx, const int edges[], int reorder,
                    Comm*& comm_graph) {
  HEARTH_TRY(check_intra(comm_old));
  abi::OwnedAllocation owned;
  topo::Distances distances(0);
  HEARTH_TRY(abi::agree_on_allocation(comm_old, owned));
  HEARTH_TRY(abi::agree_on_distances(comm_old, reorder, distances));
  Graph graph;
  HEARTH_TRY(read_graph(comm_old, nnodes, indx, edges, graph));
  HEARTH_TRY(abi::make_arranged(comm_old, std::move(owned), arrange(graph, distances), comm_graph));
  if (comm_graph != nullptr)
    set_topology(comm_graph, objects::make_graph(std::move(graph), comm_graph->rank));
  return {};
}

// Returns the rank that MPI_Graph_create with reorder=true would assign, as far as this process knows.
Status graph_map(Comm& comm, int nnodes, const int* indx, const int edges[], int& newrank) {
  Graph graph;
  HEARTH_TRY(read_graph(comm, nnodes, indx, edges, graph));
  const std::vector<int> ranks = arrange(graph, abi::known_distances(comm));
  const auto place = std::find(ranks.begin(), ranks.end(), comm.rank);
  newrank = place == ranks.end() ? MPI_UNDEFINED : static_cast<int>(place - ranks.begin());
  return {};
}

Status graphdims_get(Comm& comm, int& nnodes, int& nedges) {
  const Graph* graph = nullptr;
  HEARTH_TRY(graph_of(comm, graph));
  nnodes = static_cast<int>(graph->index.size());
  nedges = static_cast<int>(graph->edges.size());
  return {};
}

Status graph_get(Comm& comm, int maxindex, int maxedges, int indx[], int edges[]) {
  const Graph* graph = nullptr;
  HEARTH_TRY(graph_of(comm, graph));
  const auto nodes = static_cast<int>(graph->index.size());
  const auto edge_count = static_cast<int>(graph->edges.size());
  if (maxindex < nodes)
    return fail(MPI_ERR_ARG, "maxindex is %d, but the graph has %d nodes", maxindex, nodes);
  if (maxedges < edge_count) {
    return fail(MPI_ERR_ARG, "maxedges is %d, but the graph has %d edges", maxedges, edge_count);
  }
  HEARTH_TRY(check_array(indx, nodes, "index"));
  HEARTH_TRY(check_array(edges, edge_count, "edges"));
  std::copy(graph->index.begin(), graph->index.end(), indx);
  std::copy(graph->edges.begin(), graph->edges.end(), edges);
  return {};
}

namespace {

Status neighbors_of(const Comm& comm, int rank, std::span<const int>& neighbors) {
  const Graph* graph = nullptr;
  HEARTH_TRY(graph_of(comm, graph));
  HEARTH_TRY(check_ranks(&rank, 1, comm.size, "rank"));
  neighbors = graph->neighbors(rank);
  return {};
}

}  // namespace

Status graph_neighbors_count(Comm& comm, int rank, int& nneighbors) {
  std::span<const int> found;
  HEARTH_TRY(neighbors_of(comm, rank, found));
  nneighbors = static_cast<int>(found.size());
  return {};
}

Status graph_neighbors(Comm& comm, int rank, int maxneighbors, int* neighbors) {
  std::span<const int> found;
  HEARTH_TRY(neighbors_of(comm, rank, found));
  if (maxneighbors < static_cast<int>(found.size())) {
    return fail(MPI_ERR_ARG, "maxneighbors is %d, but rank %d has %zu neighbours", maxneighbors, rank,
                found.size());
  }
  std::copy(found.begin(), found.end(), neighbors);
  return {};
}

// Distributed graphs.

namespace {

/// The first word of a report is its kind; edges of three words each follow.
enum Report : int { kRefused, kUnweighted, kWeighted };
constexpr size_t kEdgeWords = 3;  // source, destination, weight

Status check_edges(const Comm& comm, int n, const int* sources, const int* degrees, const int* destinations,
                   const int* weights, int64_t& edges) {
  HEARTH_TRY(check_ranks(sources, n, comm.size, "sources"));
  HEARTH_TRY(check_array(degrees, n, "degrees"));
  edges = 0;
  for (int i = 0; i < n; ++i) {
    if (degrees[i] < 0) return fail(MPI_ERR_ARG, "degrees[%d] is %d: it must not be negative", i, degrees[i]);
    edges += degrees[i];
  }
  HEARTH_TRY(check_ranks(destinations, edges, comm.size, "destinations"));
  return check_weights(weights, edges, "weights");
}

Words report_edges(int n, const int* sources, const int* degrees, const int* destinations,
                   const int* weights) {
  const bool weighted = weights != MPI_UNWEIGHTED;
  Words report = {weighted ? kWeighted : kUnweighted};
  int64_t edge = 0;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < degrees[i]; ++j, ++edge) {
      report.insert(report.end(), {sources[i], destinations[edge], weighted ? weights[edge] : 1});
    }
  }
  return report;
}

Status refused_by(int rank) {
  return fail(MPI_ERR_OTHER, "rank %d passed wrong arguments: its error says what", rank);
}

}  // namespace

Status dist_graph_create(Comm& comm_old, int n, const int* sources, const int* degrees,
                         const int destinations[], const int* weights, Info*, int reorder,
                         Comm*& comm_dist_graph) {
  HEARTH_TRY(check_intra(comm_old));
  abi::OwnedAllocation owned;
  topo::Distances distances(0);
  HEARTH_TRY(abi::agree_on_allocation(comm_old, owned));
  HEARTH_TRY(abi::agree_on_distances(comm_old, reorder, distances));
  int64_t edges = 0;
  const Status status = check_edges(comm_old, n, sources, degrees, destinations, weights, edges);
  Words all;
  std::vector<int> ends;
  HEARTH_TRY(abi::gather_words(
      comm_old, status.ok() ? report_edges(n, sources, degrees, destinations, weights) : Words{kRefused}, all,
      ends));
  HEARTH_TRY(status);

  bool weighted = false;
  Words list;  // all edges, without the reports' first words
  int begin = 0;
  for (int rank = 0; rank < comm_old.size; ++rank) {
    const int head = all[static_cast<size_t>(begin)];
    if (head == kRefused) return refused_by(rank);
    weighted = weighted || head == kWeighted;
    const int end = ends[static_cast<size_t>(rank)];
    list.insert(list.end(), all.begin() + begin + 1, all.begin() + end);
    begin = end;
  }
  std::vector<topo::Traffic> traffic;
  for (size_t i = 0; i < list.size(); i += kEdgeWords) {
    add_traffic(list[i], list[i + 1], list[i + 2], traffic);
  }
  HEARTH_TRY(abi::make_arranged(comm_old, std::move(owned), abi::arrange(comm_old.size, traffic, distances),
                                comm_dist_graph));
  const int own = comm_dist_graph->rank;
  Topology topology;
  DistributedGraph graph;
  graph.weighted = weighted;
  for (size_t i = 0; i < list.size(); i += kEdgeWords) {
    if (list[i + 1] == own) {
      topology.sources.push_back(list[i]);
      graph.source_weights.push_back(list[i + 2]);
    }
    if (list[i] == own) {
      topology.destinations.push_back(list[i + 1]);
      graph.destination_weights.push_back(list[i + 2]);
    }
  }
  topology.shape = std::move(graph);
  set_topology(comm_dist_graph, std::move(topology));
  return {};
}

namespace {

void append(Words& words, int count, const int* values, bool given) {
  if (given) {
    words.insert(words.end(), values, values + count);
  } else {
    words.insert(words.end(), static_cast<size_t>(count), 1);
  }
}

/// One process's neighbours as words: kind, both degrees, then ranks and weights.
constexpr size_t kReportHeadWords = 3;

Words report_neighbors(int indegree, const int* sources, const int* source_weights, int outdegree,
                       const int* destinations, const int* destination_weights, bool weighted) {
  Words words = {weighted ? kWeighted : kUnweighted, indegree, outdegree};
  append(words, indegree, sources, true);
  append(words, indegree, source_weights, weighted);
  append(words, outdegree, destinations, true);
  append(words, outdegree, destination_weights, weighted);
  return words;
}

Topology topology_from(const int* report) {
  Topology topology;
  DistributedGraph graph;
  graph.weighted = report[0] == kWeighted;
  const int indegree = report[1];
  const int outdegree = report[2];
  const int* next = report + kReportHeadWords;
  const auto take = [&next](int count, std::vector<int>& values) {
    values.assign(next, next + count);
    next += count;
  };
  take(indegree, topology.sources);
  take(indegree, graph.source_weights);
  take(outdegree, topology.destinations);
  take(outdegree, graph.destination_weights);
  topology.shape = std::move(graph);
  return topology;
}

/// The edges of all ranks as traffic.
std::vector<topo::Traffic> traffic_in(const std::vector<Topology>& topologies) {
  std::vector<topo::Traffic> traffic;
  for (size_t rank = 0; rank < topologies.size(); ++rank) {
    const std::vector<int>& destinations = topologies[rank].destinations;
    for (size_t i = 0; i < destinations.size(); ++i) {
      add_traffic(static_cast<int>(rank), destinations[i],
                  topologies[rank].distributed_graph()->destination_weights[i], traffic);
    }
  }
  return traffic;
}

Status check_neighbors(const Comm& comm, int indegree, const int* sources, const int* source_weights,
                       int outdegree, const int* destinations, const int* destination_weights) {
  HEARTH_TRY(check_ranks(sources, indegree, comm.size, "sources"));
  HEARTH_TRY(check_ranks(destinations, outdegree, comm.size, "destinations"));
  HEARTH_TRY(check_weights(source_weights, indegree, "sourceweights"));
  HEARTH_TRY(check_weights(destination_weights, outdegree, "destweights"));
  if ((source_weights == MPI_UNWEIGHTED) == (destination_weights == MPI_UNWEIGHTED)) return {};
  return fail(MPI_ERR_ARG, "of sourceweights and destweights, only one is MPI_UNWEIGHTED: both or none");
}

}  // namespace

Status dist_graph_create_adjacent(Comm& comm_old, int indegree, const int* sources, const int* sourceweights,
                                  int outdegree, const int* destinations, const int* destweights, Info*,
                                  int reorder, Comm*& comm_dist_graph) {
  HEARTH_TRY(check_intra(comm_old));
  abi::OwnedAllocation owned;
  topo::Distances distances(0);
  HEARTH_TRY(abi::agree_on_allocation(comm_old, owned));
  HEARTH_TRY(abi::agree_on_distances(comm_old, reorder, distances));
  const Status status =
      check_neighbors(comm_old, indegree, sources, sourceweights, outdegree, destinations, destweights);
  Words report = {kRefused};
  if (status.ok()) {
    report = report_neighbors(indegree, sources, sourceweights, outdegree, destinations, destweights,
                              sourceweights != MPI_UNWEIGHTED);
  }
  // With uniform distances the ranks keep their order, so no exchange of neighbours is needed.
  if (distances.uniform()) {
    HEARTH_TRY(status);
    HEARTH_TRY(abi::make_arranged(comm_old, std::move(owned), abi::arrange(comm_old.size, {}, distances),
                                  comm_dist_graph));
    set_topology(comm_dist_graph, topology_from(report.data()));
    return {};
  }
  Words all;
  std::vector<int> ends;
  HEARTH_TRY(abi::gather_words(comm_old, report, all, ends));
  HEARTH_TRY(status);
  std::vector<Topology> topologies;
  for (int rank = 0; rank < comm_old.size; ++rank) {
    const int* words = all.data() + (rank == 0 ? 0 : ends[static_cast<size_t>(rank) - 1]);
    if (words[0] == kRefused) return refused_by(rank);
    topologies.push_back(topology_from(words));
  }
  HEARTH_TRY(abi::make_arranged(comm_old, std::move(owned),
                                abi::arrange(comm_old.size, traffic_in(topologies), distances),
                                comm_dist_graph));
  set_topology(comm_dist_graph, std::move(topologies[static_cast<size_t>(comm_dist_graph->rank)]));
  return {};
}

namespace {

Status distributed_graph_of(const Comm& comm, const DistributedGraph*& graph) {
  graph = comm.topology == nullptr ? nullptr : comm.topology->distributed_graph();
  if (graph != nullptr) return {};
  return fail(MPI_ERR_TOPOLOGY,
              "the communicator is no distributed graph. Remedy: MPI_Dist_graph_create makes one");
}

/// Copies as many values as `place` has room for.
Status give(const std::vector<int>& values, int room, int* place, const char* name) {
  HEARTH_TRY(check_array(place, room, name));
  std::copy_n(values.begin(), std::min(values.size(), static_cast<size_t>(room)), place);
  return {};
}

}  // namespace

Status dist_graph_neighbors_count(Comm& comm, int& indegree, int& outdegree, int& weighted) {
  const DistributedGraph* graph = nullptr;
  HEARTH_TRY(distributed_graph_of(comm, graph));
  indegree = static_cast<int>(comm.topology->sources.size());
  outdegree = static_cast<int>(comm.topology->destinations.size());
  weighted = graph->weighted;
  return {};
}

Status dist_graph_neighbors(Comm& comm, int maxindegree, int* sources, int* sourceweights, int maxoutdegree,
                            int* destinations, int* destweights) {
  const DistributedGraph* graph = nullptr;
  HEARTH_TRY(distributed_graph_of(comm, graph));
  HEARTH_TRY(give(comm.topology->sources, maxindegree, sources, "sources"));
  HEARTH_TRY(give(comm.topology->destinations, maxoutdegree, destinations, "destinations"));
  // A graph without weights leaves the arrays of weights unchanged.
  const auto wanted = [](const int* weights) {
    return weights != MPI_UNWEIGHTED && weights != MPI_WEIGHTS_EMPTY;
  };
  if (!graph->weighted) return {};
  if (wanted(sourceweights)) {
    HEARTH_TRY(give(graph->source_weights, maxindegree, sourceweights, "sourceweights"));
  }
  if (wanted(destweights)) {
    HEARTH_TRY(give(graph->destination_weights, maxoutdegree, destweights, "destweights"));
  }
  return {};
}

Status topo_test(Comm& comm, int& status) {
  status = MPI_UNDEFINED;
  if (comm.topology == nullptr) return {};
  status = comm.topology->cartesian() != nullptr ? MPI_CART
           : comm.topology->graph() != nullptr   ? MPI_GRAPH
                                                 : MPI_DIST_GRAPH;
  return {};
}

}  // namespace hearth::mpi
