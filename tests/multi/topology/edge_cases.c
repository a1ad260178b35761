/* Topologies where definitions are easy to get wrong (MPI 5.0 chapter 8): grids without dimensions and with
 * dimensions of one, shifts that lead nowhere or around, graphs without nodes or edges, repeated edges and
 * self-edges, which are distinguished by their weights. Any number of ranks. */
#include "../coll/check.h"

static void expect_topology(MPI_Comm comm, int want, const char* what) {
  int got = -1;
  MPI_Topo_test(comm, &got);
  CHECK(got == want, "%s: topology %d, not %d", what, got, want);
}

static void test_grids(void) {
  MPI_Comm grid, part, copy;
  int dims[3] = {0}, periods[3] = {0}, coords[3] = {-1, -1, -1}, rank = -1, source, destination, number;
  /* Without dimensions: one process. */
  MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &grid);
  CHECK((grid == MPI_COMM_NULL) == (rank_ != 0), "a grid without dimensions");
  if (grid != MPI_COMM_NULL) {
    expect_topology(grid, MPI_CART, "a grid without dimensions");
    MPI_Cartdim_get(grid, &number);
    MPI_Cart_rank(grid, NULL, &rank);
    MPI_Cart_coords(grid, 0, 0, NULL);
    MPI_Cart_get(grid, 0, NULL, NULL, NULL);
    CHECK(number == 0 && rank == 0, "dimensions %d, rank %d", number, rank);
    MPI_Comm_free(&grid);
  }
  /* One periodic dimension, one periodic dimension of one process, and one non-periodic dimension of one
   * process. */
  dims[0] = size_;
  dims[1] = dims[2] = 1;
  periods[0] = periods[1] = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &grid);
  MPI_Cart_shift(grid, 0, 0, &source, &destination);
  CHECK(source == rank_ && destination == rank_, "a shift by nothing: %d, %d", source, destination);
  MPI_Cart_shift(grid, 0, -size_ - 1, &source, &destination);
  CHECK(source == (rank_ + 1) % size_ && destination == (rank_ + size_ - 1) % size_,
        "a shift back beyond all: %d, %d", source, destination);
  MPI_Cart_shift(grid, 1, 5, &source, &destination);
  CHECK(source == rank_ && destination == rank_, "a shift around one: %d, %d", source, destination);
  MPI_Cart_shift(grid, 2, 1, &source, &destination);
  CHECK(source == MPI_PROC_NULL && destination == MPI_PROC_NULL, "a shift over the end: %d, %d", source,
        destination);
  coords[0] = -1 - 2 * size_;
  coords[1] = 3;
  coords[2] = 0;
  MPI_Cart_rank(grid, coords, &rank);
  CHECK(rank == size_ - 1, "coordinates that go around: %d", rank);
  /* Keeps all dimensions, then none. */
  int remain[] = {1, 1, 1};
  MPI_Cart_sub(grid, remain, &part);
  MPI_Comm_compare(grid, part, &number);
  CHECK(number == MPI_CONGRUENT, "a part of all dimensions: %d", number);
  MPI_Comm_free(&part);
  memset(remain, 0, sizeof remain);
  MPI_Cart_sub(grid, remain, &part);
  MPI_Comm_size(part, &number);
  CHECK(number == 1, "a part of no dimension has %d processes", number);
  expect_topology(part, MPI_CART, "a part of no dimension");
  MPI_Cartdim_get(part, &number);
  CHECK(number == 0, "a part of no dimension has %d", number);
  MPI_Comm_free(&part);

  MPI_Request request;
  MPI_Comm_idup(grid, &copy, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect_topology(copy, MPI_CART, "a duplicate");
  MPI_Comm_free(&copy);
  MPI_Comm_split(grid, 0, 0, &copy);
  expect_topology(copy, MPI_UNDEFINED, "a part");
  MPI_Comm_free(&copy);
  /* To itself in both directions: the block that is sent down arrives from above. */
  int out[6], in[6], below, above;
  for (int i = 0; i < 6; ++i) out[i] = 10 * rank_ + i;
  memset(in, -1, sizeof in);
  MPI_Cart_shift(grid, 0, 1, &below, &above);
  MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, grid);
  const int want[] = {10 * below + 1, 10 * above, 10 * rank_ + 3, 10 * rank_ + 2, -1, -1};
  for (int i = 0; i < 6; ++i) CHECK(in[i] == want[i], "block %d is %d, not %d", i, in[i], want[i]);
  MPI_Comm_free(&grid);
}

static void expect_dims(int nodes, int n, const int* given, const int* want) {
  int dims[6];
  memcpy(dims, given, (size_t)n * sizeof(int));
  MPI_Dims_create(nodes, n, dims);
  for (int i = 0; i < n; ++i)
    CHECK(dims[i] == want[i], "%d nodes: dimension %d is %d, not %d", nodes, i, dims[i], want[i]);
}

/* The examples of section 8.5.2 and similar ones: free dimensions are in falling order, given ones stay in
 * place. */
static void test_dims(void) {
  expect_dims(6, 2, (int[]){0, 0}, (int[]){3, 2});
  expect_dims(7, 2, (int[]){0, 0}, (int[]){7, 1});
  expect_dims(6, 3, (int[]){0, 3, 0}, (int[]){2, 3, 1});
  expect_dims(1, 3, (int[]){0, 0, 0}, (int[]){1, 1, 1});
  expect_dims(12, 4, (int[]){0, 1, 0, 2}, (int[]){3, 1, 2, 2});
  expect_dims(24, 3, (int[]){2, 3, 4}, (int[]){2, 3, 4});
  expect_dims(72, 3, (int[]){0, 0, 0}, (int[]){6, 4, 3});
  int dims[] = {0, 3, 0};
  CHECK(class_of(MPI_Dims_create(7, 3, dims)) != MPI_SUCCESS, "7 nodes in rows of 3");
}

static void test_graphs(void) {
  MPI_Comm graph;
  int nodes = -1, edges = -1;
  MPI_Graph_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &graph);
  CHECK(graph == MPI_COMM_NULL, "a graph without nodes");
  /* Node 0 has two self-edges, the other nodes none. */
  int ends[64], back[] = {0, 0}, found[2] = {-1, -1};
  for (int i = 0; i < size_; ++i) ends[i] = 2;
  MPI_Graph_create(MPI_COMM_WORLD, size_, ends, back, 0, &graph);
  expect_topology(graph, MPI_GRAPH, "a graph");
  MPI_Graphdims_get(graph, &nodes, &edges);
  CHECK(nodes == size_ && edges == 2, "%d nodes, %d edges", nodes, edges);
  MPI_Graph_neighbors_count(graph, 0, &edges);
  MPI_Graph_neighbors(graph, 0, 2, found);
  CHECK(edges == 2 && found[0] == 0 && found[1] == 0, "%d edges of node 0", edges);
  MPI_Graph_neighbors_count(graph, size_ - 1, &edges);
  CHECK(edges == (size_ == 1 ? 2 : 0), "%d edges of the last node", edges);
  int out[] = {10 * rank_, 10 * rank_ + 1}, in[] = {-1, -1};
  MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, graph);
  for (int i = 0; i < 2; ++i) CHECK(in[i] == (rank_ == 0 ? i : -1), "along an edge back: %d", in[i]);
  MPI_Comm_free(&graph);
}

enum { kRoom = 64 };

struct Neighbors {
  int in, out, weighted;
  int sources[kRoom], source_weights[kRoom], destinations[kRoom], destination_weights[kRoom];
};

static struct Neighbors neighbors_of(MPI_Comm graph) {
  struct Neighbors n;
  MPI_Dist_graph_neighbors_count(graph, &n.in, &n.out, &n.weighted);
  MPI_Dist_graph_neighbors(graph, kRoom, n.sources, n.source_weights, kRoom, n.destinations,
                           n.destination_weights);
  return n;
}

/* The data on an edge are its weight, in each collective that distinguishes edges. */
static void check_edges(MPI_Comm graph, const struct Neighbors* n) {
  int got[kRoom], counts[kRoom], places[kRoom], out_counts[kRoom], out_places[kRoom];
  MPI_Request request;
  memset(got, -1, sizeof got);
  MPI_Neighbor_alltoall(n->destination_weights, 1, MPI_INT, got, 1, MPI_INT, graph);
  for (int i = 0; i < n->in; ++i)
    CHECK(got[i] == n->source_weights[i], "edge %d from %d: %d, not %d", i, n->sources[i], got[i],
          n->source_weights[i]);
  /* Edges with even weights carry no data. */
  for (int i = 0; i < n->in; ++i) {
    counts[i] = n->source_weights[i] % 2;
    places[i] = n->in - 1 - i;
  }
  for (int i = 0; i < n->out; ++i) {
    out_counts[i] = n->destination_weights[i] % 2;
    out_places[i] = i;
  }
  memset(got, -1, sizeof got);
  MPI_Ineighbor_alltoallv(n->destination_weights, out_counts, out_places, MPI_INT, got, counts, places,
                          MPI_INT, graph, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < n->in; ++i) {
    const int want = counts[i] ? n->source_weights[i] : -1;
    CHECK(got[n->in - 1 - i] == want, "edge %d from %d: %d, not %d", i, n->sources[i], got[n->in - 1 - i],
          want);
  }
}

/* Every rank passes three edges of the next rank: a self-edge and two to rank 0, all with different weights,
 * which distinguish repeated edges. */
static void test_repeated_edges(void) {
  MPI_Comm graph, copy;
  const int next = (rank_ + 1) % size_, sources[] = {next, next}, degrees[] = {2, 1};
  const int destinations[] = {0, next, 0}, weights[] = {10 * next + 1, 10 * next + 2, 10 * next + 3};
  MPI_Dist_graph_create(MPI_COMM_WORLD, 2, sources, degrees, destinations, weights, MPI_INFO_NULL, 0, &graph);
  expect_topology(graph, MPI_DIST_GRAPH, "a distributed graph");
  const struct Neighbors n = neighbors_of(graph);
  CHECK(n.weighted && n.out == 3 && n.in == (rank_ == 0 ? 2 * size_ + 1 : 1), "in %d, out %d, weighted %d",
        n.in, n.out, n.weighted);
  int sum = 0;
  for (int i = 0; i < n.out; ++i) {
    const int kind = n.destination_weights[i] % 10;
    CHECK(n.destination_weights[i] / 10 == rank_ && n.destinations[i] == (kind == 2 ? rank_ : 0),
          "edge %d to %d has weight %d", i, n.destinations[i], n.destination_weights[i]);
    sum += kind;
  }
  CHECK(sum == 6, "an edge is missing");
  for (int i = 0; i < n.in; ++i)
    CHECK(n.source_weights[i] / 10 == n.sources[i], "edge %d from %d has weight %d", i, n.sources[i],
          n.source_weights[i]);
  check_edges(graph, &n);
  MPI_Comm_dup(graph, &copy);
  const struct Neighbors same = neighbors_of(copy);
  CHECK(same.in == n.in && memcmp(same.sources, n.sources, (size_t)n.in * sizeof(int)) == 0 &&
            memcmp(same.destination_weights, n.destination_weights, 3 * sizeof(int)) == 0,
        "a duplicate has other neighbours");
  check_edges(copy, &same);
  MPI_Comm_free(&copy);
  /* Room for fewer edges than there are: the first ones (section 8.5.5). */
  int one[] = {-7, -7}, weight[] = {-7, -7}, to[] = {-7, -7}, to_weight[] = {-7, -7};
  MPI_Dist_graph_neighbors(graph, 1, one, weight, 1, to, to_weight);
  CHECK(one[0] == n.sources[0] && weight[0] == n.source_weights[0] && to[0] == n.destinations[0] &&
            to_weight[0] == n.destination_weights[0] && one[1] == -7 && to[1] == -7,
        "the first neighbours only");
  MPI_Comm_free(&graph);
}

static void test_no_edges(void) {
  MPI_Comm graph;
  int word = 5;
  MPI_Dist_graph_create(MPI_COMM_WORLD, 0, NULL, NULL, NULL, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  struct Neighbors n;
  MPI_Dist_graph_neighbors_count(graph, &n.in, &n.out, &n.weighted);
  CHECK(n.in == 0 && n.out == 0 && !n.weighted, "no edges: in %d, out %d, weighted %d", n.in, n.out,
        n.weighted);
  MPI_Neighbor_allgather(&word, 1, MPI_INT, NULL, 1, MPI_INT, graph);
  MPI_Comm_free(&graph);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL, MPI_WEIGHTS_EMPTY,
                                 MPI_INFO_NULL, 1, &graph);
  MPI_Dist_graph_neighbors_count(graph, &n.in, &n.out, &n.weighted);
  CHECK(n.in == 0 && n.out == 0 && n.weighted, "no edges, with weights: in %d, out %d, weighted %d", n.in,
        n.out, n.weighted);
  MPI_Comm_free(&graph);
  /* A self-edge of weight 0, and an edge to rank 0 from the last rank only. */
  const int last = rank_ == size_ - 1;
  int from[] = {rank_, size_ - 1}, from_weights[] = {0, 9}, to[] = {rank_, 0}, to_weights[] = {0, 9};
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank_ == 0 ? 2 : 1, from, from_weights, last ? 2 : 1, to,
                                 to_weights, MPI_INFO_NULL, 0, &graph);
  n = neighbors_of(graph);
  CHECK(n.weighted && n.in == (rank_ == 0 ? 2 : 1) && n.out == (last ? 2 : 1) && n.source_weights[0] == 0,
        "in %d, out %d", n.in, n.out);
  check_edges(graph, &n);
  MPI_Comm_free(&graph);
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  test_grids();
  test_dims();
  test_graphs();
  test_repeated_edges();
  test_no_edges();
  MPI_Finalize();
  return 0;
}
