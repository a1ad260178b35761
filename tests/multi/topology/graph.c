/* Graphs and distributed graphs: created, queried, duplicated, used. */
#include "../coll/check.h"

/* A ring with a self-edge of rank 0 and two edges to the next rank. */
static int edges_of(int rank, int nodes, int* edges) {
  int count = 0;
  if (rank == 0) edges[count++] = 0;
  if (nodes > 1) {
    edges[count++] = (rank + 1) % nodes;
    edges[count++] = (rank + 1) % nodes;
    edges[count++] = (rank + nodes - 1) % nodes;
  }
  return count;
}

static void check_graph(MPI_Comm graph, int nodes, const int* indx, const int* edges, const char* what) {
  int status, found_nodes, found_edges, count;
  MPI_Topo_test(graph, &status);
  MPI_Graphdims_get(graph, &found_nodes, &found_edges);
  CHECK(status == MPI_GRAPH && found_nodes == nodes && found_edges == indx[nodes - 1], "%s: kind %d, %d, %d",
        what, status, found_nodes, found_edges);
  int *got_indx = malloc(sizeof(int) * (size_t)nodes), *got = malloc(sizeof(int) * (size_t)(found_edges + 1));
  MPI_Graph_get(graph, nodes, found_edges, got_indx, got);
  for (int i = 0; i < nodes; ++i) CHECK(got_indx[i] == indx[i], "%s: index[%d]", what, i);
  for (int i = 0; i < found_edges; ++i) CHECK(got[i] == edges[i], "%s: edges[%d]", what, i);
  for (int r = 0; r < nodes; ++r) {
    const int begin = r == 0 ? 0 : indx[r - 1];
    MPI_Graph_neighbors_count(graph, r, &count);
    CHECK(count == indx[r] - begin, "%s: rank %d has %d neighbours", what, r, count);
    MPI_Graph_neighbors(graph, r, count, got);
    for (int i = 0; i < count; ++i) CHECK(got[i] == edges[begin + i], "%s: neighbour %d of %d", what, i, r);
  }
  free(got_indx);
  free(got);
}

static void test_graph(int nodes, int reorder) {
  int *indx = malloc(sizeof(int) * (size_t)nodes), *edges = malloc(sizeof(int) * (size_t)(4 * nodes));
  int total = 0, new_rank, rank;
  for (int r = 0; r < nodes; ++r) {
    total += edges_of(r, nodes, edges + total);
    indx[r] = total;
  }
  MPI_Comm graph, copy;
  MPI_Graph_create(MPI_COMM_WORLD, nodes, indx, edges, reorder, &graph);
  /* After the graph, because it then uses what was measured for the graph. */
  MPI_Graph_map(MPI_COMM_WORLD, nodes, indx, edges, &new_rank);
  CHECK((graph == MPI_COMM_NULL) == (rank_ >= nodes), "who is in the graph");
  CHECK(!promised() || (new_rank == MPI_UNDEFINED) == (rank_ >= nodes), "the mapped rank is %d", new_rank);
  if (graph != MPI_COMM_NULL) {
    MPI_Comm_rank(graph, &rank);
    CHECK(!promised() || rank == (reorder ? new_rank : rank_), "the new rank is %d", rank);
    check_graph(graph, nodes, indx, edges, "a graph");
    MPI_Comm_dup(graph, &copy);
    MPI_Comm_free(&graph);
    check_graph(copy, nodes, indx, edges, "a duplicate");
    MPI_Comm_free(&copy);
  }
  free(indx);
  free(edges);
}

/* Distributed graphs: the edge from r to (r + k) % size for k of 0 to degree - 1, of weight 10 r + k. */
static int contains(const int* ranks, const int* weights, int count, int rank, int weight) {
  int times = 0;
  for (int i = 0; i < count; ++i) times += ranks[i] == rank && (weights == NULL || weights[i] == weight);
  return times;
}

static void check_distributed(MPI_Comm graph, int degree, int weighted, const char* what) {
  int status, indegree, outdegree, is_weighted, rank, size;
  int sources[16] = {0}, source_weights[16] = {0}, destinations[16] = {0}, destination_weights[16] = {0};
  MPI_Comm_rank(graph, &rank);
  MPI_Comm_size(graph, &size);
  MPI_Topo_test(graph, &status);
  MPI_Dist_graph_neighbors_count(graph, &indegree, &outdegree, &is_weighted);
  CHECK(status == MPI_DIST_GRAPH && indegree == degree && outdegree == degree && !is_weighted == !weighted,
        "%s: kind %d, degrees %d and %d, weighted %d", what, status, indegree, outdegree, is_weighted);
  MPI_Dist_graph_neighbors(graph, indegree, sources, weighted ? source_weights : MPI_UNWEIGHTED, outdegree,
                           destinations, weighted ? destination_weights : MPI_UNWEIGHTED);
  for (int k = 0; k < degree; ++k) {
    /* With few ranks several k give the same edge. */
    const int from = ((rank - k) % size + size) % size, to = (rank + k) % size;
    CHECK(contains(sources, weighted ? source_weights : NULL, degree, from, 10 * from + k) >= 1,
          "%s: no edge from %d of weight %d", what, from, 10 * from + k);
    CHECK(contains(destinations, weighted ? destination_weights : NULL, degree, to, 10 * rank + k) >= 1,
          "%s: no edge to %d of weight %d", what, to, 10 * rank + k);
  }
  /* With too little room, the first part of the list (MPI 5.0 section 8.5.5, which other libraries read
   * differently). */
  if (degree > 1 && promised()) {
    int first = -1, last = -7;
    MPI_Dist_graph_neighbors(graph, 1, &first, MPI_UNWEIGHTED, 0, &last, MPI_UNWEIGHTED);
    CHECK(first == sources[0] && last == -7, "%s: a part of the list", what);
  }
}

static void test_adjacent(int degree, int weighted, int reorder) {
  int sources[16] = {0}, source_weights[16] = {0}, destinations[16] = {0}, destination_weights[16] = {0};
  for (int k = 0; k < degree; ++k) {
    sources[k] = ((rank_ - k) % size_ + size_) % size_;
    source_weights[k] = 10 * sources[k] + k;
    destinations[k] = (rank_ + k) % size_;
    destination_weights[k] = 10 * rank_ + k;
  }
  int* in = weighted ? (degree > 0 ? source_weights : MPI_WEIGHTS_EMPTY) : MPI_UNWEIGHTED;
  int* out = weighted ? (degree > 0 ? destination_weights : MPI_WEIGHTS_EMPTY) : MPI_UNWEIGHTED;
  MPI_Comm graph, copy;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, sources, in, degree, destinations, out,
                                 MPI_INFO_NULL, reorder, &graph);
  check_distributed(graph, degree, weighted, "adjacent");
  if (!reorder && degree > 0) {
    /* In the order of their creation. */
    int got[16], got_out[16];
    MPI_Dist_graph_neighbors(graph, degree, got, MPI_UNWEIGHTED, degree, got_out, MPI_UNWEIGHTED);
    CHECK(memcmp(got, sources, sizeof(int) * (size_t)degree) == 0, "the order of sources");
    CHECK(memcmp(got_out, destinations, sizeof(int) * (size_t)degree) == 0, "the order of destinations");
  }
  MPI_Comm_dup(graph, &copy);
  MPI_Comm_free(&graph);
  check_distributed(copy, degree, weighted, "a duplicate");
  MPI_Comm_free(&copy);
}

/* Rank 0 passes the edges of the odd ranks, each even rank its own. */
static void test_general(int degree, int weighted, int reorder) {
  int nodes[64], degrees[64], destinations[1024], weights[1024], count = 0, edges = 0;
  for (int r = 0; r < size_; ++r) {
    if (r % 2 == 0 ? r != rank_ : rank_ != 0) continue;
    nodes[count] = r;
    degrees[count++] = degree;
    for (int k = 0; k < degree; ++k) {
      destinations[edges] = (r + k) % size_;
      weights[edges++] = 10 * r + k;
    }
  }
  MPI_Comm graph;
  MPI_Dist_graph_create(MPI_COMM_WORLD, count, nodes, degrees, destinations,
                        weighted ? (edges > 0 ? weights : MPI_WEIGHTS_EMPTY) : MPI_UNWEIGHTED, MPI_INFO_NULL,
                        reorder, &graph);
  check_distributed(graph, degree, weighted, "general");
  MPI_Comm_free(&graph);
}

static void test_errors(void) {
  MPI_Comm comm, made;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int indx[2] = {1, 0}, edges[2] = {0, 0}, number, weights[2] = {1, -1};
  CHECK(class_of(MPI_Graph_create(comm, size_ + 1, indx, edges, 0, &made)) == MPI_ERR_ARG, "too many nodes");
  if (size_ > 1)
    CHECK(class_of(MPI_Graph_create(comm, 2, indx, edges, 0, &made)) == MPI_ERR_ARG, "a falling index");
  edges[0] = 1;
  CHECK(class_of(MPI_Graph_create(comm, 1, indx, edges, 0, &made)) == MPI_ERR_RANK,
        "an edge to a rank that does not exist");
  CHECK(class_of(MPI_Graphdims_get(comm, &number, &number)) == MPI_ERR_TOPOLOGY, "no graph");
  CHECK(class_of(MPI_Dist_graph_neighbors_count(comm, &number, &number, &number)) == MPI_ERR_TOPOLOGY,
        "no distributed graph");
  /* One rank passes an invalid edge: all ranks get an error. */
  edges[0] = rank_ == size_ - 1 ? size_ : 0;
  int degree = 1, node = rank_;
  int code = class_of(
      MPI_Dist_graph_create(comm, 1, &node, &degree, edges, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made));
  CHECK(code == (rank_ == size_ - 1 ? MPI_ERR_RANK : MPI_ERR_OTHER), "a wrong destination: class %d", code);
  edges[0] = 0;
  weights[0] = -1;
  CHECK(class_of(MPI_Dist_graph_create(comm, 1, &node, &degree, edges, weights, MPI_INFO_NULL, 0, &made)) ==
            MPI_ERR_ARG,
        "a negative weight");
  CHECK(class_of(MPI_Dist_graph_create_adjacent(comm, 0, NULL, MPI_UNWEIGHTED, 1, edges, MPI_WEIGHTS_EMPTY,
                                                MPI_INFO_NULL, 0, &made)) == MPI_ERR_ARG,
        "no weights for an edge");
  CHECK(class_of(MPI_Dist_graph_create(comm, -1, &node, &degree, edges, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                       &made)) == MPI_ERR_ARG,
        "-1 nodes");
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  for (int reorder = 0; reorder <= 1; ++reorder) {
    for (int nodes = 1; nodes <= size_; ++nodes) test_graph(nodes, reorder);
    for (int degree = 0; degree <= 5; ++degree) {
      for (int weighted = 0; weighted <= 1; ++weighted) {
        test_adjacent(degree, weighted, reorder);
        test_general(degree, weighted, reorder);
      }
    }
  }
  MPI_Comm none;
  MPI_Graph_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &none);
  CHECK(none == MPI_COMM_NULL, "a graph without nodes");
  if (promised()) test_errors();
  MPI_Finalize();
  return 0;
}
