/* Neighbourhood collectives in the form that the argument names: grids with every kind of edge, graphs with
   self-edges and with several edges between two processes. Each block contains its sender and the number of
   its edge. */
#include "../coll/forms.h"

enum { kMax = 64, kLength = 3 };

/* The expected sender and its block number for source i, or -1 for no data. */
struct Expected {
  int in_degree, out_degree;
  int from[kMax], block[kMax], sources[kMax], destinations[kMax];
};

static int value_of(int rank, int block, int i) {
  return rank * 10000 + block * 100 + i;
}

static void check_values(const int* got, int from, int block, int count, const char* what) {
  for (int i = 0; i < count; ++i) {
    const int wanted = from < 0 ? -1 : value_of(from, block, i);
    CHECK(got[i] == wanted, "%s: got %d, not %d", what, got[i], wanted);
  }
}

/* The offset of block i; there is room between blocks. */
static int place_of(int block) {
  return block * (kLength + 2) + 1;
}

static void test_all(MPI_Comm comm, const struct Expected* e) {
  const int in = e->in_degree, out = e->out_degree;
  int send[kMax * (kLength + 2)], receive[kMax * (kLength + 2)], rank;
  int send_counts[kMax], receive_counts[kMax], send_places[kMax], receive_places[kMax];
  MPI_Aint send_bytes[kMax], receive_bytes[kMax];
  MPI_Datatype send_types[kMax], receive_types[kMax], pair;
  MPI_Comm_rank(comm, &rank);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);

  for (int i = 0; i < kLength; ++i) send[i] = value_of(rank, 0, i);
  memset(receive, -1, sizeof receive);
  COLLECTIVE_ON(comm, Neighbor_allgather, neighbor_allgather, send, kLength, MPI_INT, receive, kLength,
                MPI_INT);
  for (int s = 0; s < in; ++s) check_values(receive + s * kLength, e->from[s], 0, kLength, "allgather");

  for (int s = 0; s < in; ++s) {
    receive_counts[s] = kLength;
    receive_places[s] = place_of(in - 1 - s);
  }
  memset(receive, -1, sizeof receive);
  COLLECTIVE_ON(comm, Neighbor_allgatherv, neighbor_allgatherv, send, kLength, MPI_INT, receive,
                receive_counts, receive_places, MPI_INT);
  for (int s = 0; s < in; ++s)
    check_values(receive + receive_places[s], e->from[s], 0, kLength, "allgatherv");

  for (int d = 0; d < out; ++d) {
    for (int i = 0; i < kLength; ++i) send[d * kLength + i] = value_of(rank, d, i);
  }
  memset(receive, -1, sizeof receive);
  COLLECTIVE_ON(comm, Neighbor_alltoall, neighbor_alltoall, send, kLength, MPI_INT, receive, kLength,
                MPI_INT);
  for (int s = 0; s < in; ++s)
    check_values(receive + s * kLength, e->from[s], e->block[s], kLength, "alltoall");

  /* Blocks of various lengths, some empty, computed from the ranks of both ends. */
  for (int d = 0; d < out; ++d) {
    const int to = e->destinations[d];
    send_counts[d] = to < 0 ? 1 : (rank + to) % (kLength + 1);
    send_places[d] = place_of(d);
    for (int i = 0; i < kLength; ++i) send[place_of(d) + i] = value_of(rank, d, i);
  }
  for (int s = 0; s < in; ++s) {
    receive_counts[s] = e->from[s] < 0 ? 1 : (rank + e->from[s]) % (kLength + 1);
    receive_places[s] = place_of(s);
  }
  memset(receive, -1, sizeof receive);
  COLLECTIVE_ON(comm, Neighbor_alltoallv, neighbor_alltoallv, send, send_counts, send_places, MPI_INT,
                receive, receive_counts, receive_places, MPI_INT);
  for (int s = 0; s < in; ++s) {
    check_values(receive + place_of(s), e->from[s], e->block[s], receive_counts[s], "alltoallv");
    check_values(receive + place_of(s) + receive_counts[s], -1, 0, 1, "behind alltoallv");
  }

  /* With types: pairs on one side, single numbers on the other. */
  for (int d = 0; d < out; ++d) {
    send_types[d] = d % 2 ? pair : MPI_INT;
    send_counts[d] = d % 2 ? 1 : 2;
    send_bytes[d] = (MPI_Aint)sizeof(int) * place_of(d);
  }
  for (int s = 0; s < in; ++s) {
    receive_types[s] = s % 2 ? MPI_INT : pair;
    receive_counts[s] = s % 2 ? 2 : 1;
    receive_bytes[s] = (MPI_Aint)sizeof(int) * place_of(s);
  }
  memset(receive, -1, sizeof receive);
  COLLECTIVE_ON(comm, Neighbor_alltoallw, neighbor_alltoallw, send, send_counts, send_bytes, send_types,
                receive, receive_counts, receive_bytes, receive_types);
  for (int s = 0; s < in; ++s) check_values(receive + place_of(s), e->from[s], e->block[s], 2, "alltoallw");
  MPI_Type_free(&pair);
}

/* The block that the lower neighbour sends upward is its block "above" in that dimension, and vice versa. */
static void test_grid(int dimensions, const int* dims, const int* periods) {
  MPI_Comm grid;
  MPI_Cart_create(MPI_COMM_WORLD, dimensions, dims, periods, 0, &grid);
  if (grid == MPI_COMM_NULL) return;
  struct Expected e = {.in_degree = 2 * dimensions, .out_degree = 2 * dimensions};
  for (int d = 0; d < dimensions; ++d) {
    int below, above;
    MPI_Cart_shift(grid, d, 1, &below, &above);
    e.from[2 * d] = e.destinations[2 * d] = below == MPI_PROC_NULL ? -1 : below;
    e.from[2 * d + 1] = e.destinations[2 * d + 1] = above == MPI_PROC_NULL ? -1 : above;
    e.block[2 * d] = 2 * d + 1;
    e.block[2 * d + 1] = 2 * d;
  }
  test_all(grid, &e);
  MPI_Comm_free(&grid);
}

/* Edges from each rank r to (r + step) % size for each step: several may lead to the same process, or to
 * itself. */
static void test_steps(int degree, const int* steps) {
  struct Expected e = {.in_degree = degree, .out_degree = degree};
  for (int k = 0; k < degree; ++k) {
    e.destinations[k] = (rank_ + steps[k]) % size_;
    e.sources[k] = e.from[k] = ((rank_ - steps[k]) % size_ + size_) % size_;
    e.block[k] = k;
  }
  /* Edges from one process match in the order in which both ends list them; here that is the same order. */
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, e.sources, MPI_UNWEIGHTED, degree, e.destinations,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  test_all(graph, &e);
  MPI_Comm_free(&graph);
}

/* All ranks send to rank 0, which sends to the last rank only. */
static void test_lopsided(void) {
  struct Expected e = {.in_degree = 0, .out_degree = 1};
  if (rank_ == 0) {
    e.in_degree = size_ - 1;
    for (int r = 1; r < size_; ++r) e.sources[r - 1] = e.from[r - 1] = r;
    e.destinations[0] = size_ - 1;
  }
  if (size_ == 1) e.out_degree = 0;
  if (rank_ == size_ - 1 && size_ > 1) {
    e.in_degree = 1;
  }
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, e.in_degree, e.sources, MPI_UNWEIGHTED, e.out_degree,
                                 e.destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  test_all(graph, &e);
  MPI_Comm_free(&graph);
}

/* A ring created by MPI_Graph_create. */
static void test_graph(void) {
  int indx[64], edges[128];
  for (int r = 0; r < size_; ++r) {
    edges[2 * r] = (r + 1) % size_;
    edges[2 * r + 1] = (r + size_ - 1) % size_;
    indx[r] = 2 * r + 2;
  }
  struct Expected e = {.in_degree = 2, .out_degree = 2};
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  e.from[0] = e.destinations[0] = next;
  e.from[1] = e.destinations[1] = previous;
  /* The next rank sends its block for its previous one. If both neighbours are the same rank, the first block
   * comes first. */
  e.block[0] = size_ > 2 ? 1 : 0;
  e.block[1] = size_ > 2 ? 0 : 1;
  MPI_Comm graph;
  MPI_Graph_create(MPI_COMM_WORLD, size_, indx, edges, 0, &graph);
  test_all(graph, &e);
  MPI_Comm_free(&graph);
}

/* More neighbours than messages that may be in flight, and blocks that do not fit a ring. */
static void test_wide(void) {
  enum { kInts = 5000 };
  const int edges = 60 / size_ * size_; /* as many to each process */
  int ranks[60];
  for (int k = 0; k < edges; ++k) ranks[k] = k % size_;
  int* send = malloc(sizeof(int) * (size_t)(edges * kInts));
  int* receive = malloc(sizeof(int) * (size_t)(edges * kInts));
  for (int i = 0; i < edges * kInts; ++i) send[i] = rank_ * edges * kInts + i;
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, edges, ranks, MPI_UNWEIGHTED, edges, ranks, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &graph);
  COLLECTIVE_ON(graph, Neighbor_alltoall, neighbor_alltoall, send, kInts, MPI_INT, receive, kInts, MPI_INT);
  for (int k = 0; k < edges; ++k) {
    /* The n-th edge from a process is its n-th edge to this rank. */
    const int from = k % size_, block = k / size_ * size_ + rank_;
    const int wanted = from * edges * kInts + block * kInts;
    CHECK(receive[k * kInts] == wanted && receive[k * kInts + kInts - 1] == wanted + kInts - 1,
          "wide: block %d", k);
  }
  MPI_Comm_free(&graph);
  free(send);
  free(receive);
}

/* Two at once on one communicator; persistent ones are started in another order than they were created. */
static void test_overlap(void) {
  MPI_Comm ring;
  const int periods[1] = {1};
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size_, periods, 0, &ring);
  int send[2][2], receive[2][2] = {{-1, -1}, {-1, -1}};
  MPI_Request requests[2];
  for (int i = 0; i < 2; ++i) send[i][0] = send[i][1] = rank_ * 10 + i;
  if (form_ == kPersistent) {
    for (int i = 0; i < 2; ++i) {
      MPI_Neighbor_alltoall_init(send[i], 1, MPI_INT, receive[i], 1, MPI_INT, ring, MPI_INFO_NULL,
                                 &requests[i]);
    }
    for (int turn = 0; turn < 3; ++turn) {
      MPI_Start(&requests[(rank_ + turn) % 2]);
      MPI_Start(&requests[(rank_ + turn + 1) % 2]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
  } else {
    for (int i = 0; i < 2; ++i) {
      MPI_Ineighbor_alltoall(send[i], 1, MPI_INT, receive[i], 1, MPI_INT, ring, &requests[i]);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  const int below = (rank_ + size_ - 1) % size_, above = (rank_ + 1) % size_;
  for (int i = 0; i < 2; ++i) {
    CHECK(receive[i][0] == below * 10 + i && receive[i][1] == above * 10 + i, "overlap: %d and %d",
          receive[i][0], receive[i][1]);
  }
  MPI_Comm_free(&ring);
}

static void test_errors(void) {
  MPI_Comm comm, ring;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int send[2] = {0, 0}, receive[2] = {0, 0}, counts[2] = {1, -1}, places[2] = {0, 1};
  CHECK(class_of(MPI_Neighbor_alltoall(send, 1, MPI_INT, receive, 1, MPI_INT, comm)) == MPI_ERR_TOPOLOGY,
        "no topology");
  const int periods[1] = {1};
  MPI_Cart_create(comm, 1, &size_, periods, 0, &ring);
  CHECK(class_of(MPI_Neighbor_alltoallv(send, counts, places, MPI_INT, receive, counts, places, MPI_INT,
                                        ring)) == MPI_ERR_COUNT,
        "a negative count");
  CHECK(
      class_of(MPI_Neighbor_allgather(MPI_IN_PLACE, 1, MPI_INT, receive, 1, MPI_INT, ring)) == MPI_ERR_BUFFER,
      "MPI_IN_PLACE");
  MPI_Comm_free(&ring);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  choose_form(argc, argv);
  for (int dimensions = 1; dimensions <= 3; ++dimensions) {
    int dims[3] = {0, 0, 0};
    MPI_Dims_create(size_, dimensions, dims);
    for (int mask = 0; mask < 1 << dimensions; ++mask) {
      const int periods[3] = {mask & 1, mask >> 1 & 1, mask >> 2};
      test_grid(dimensions, dims, periods);
    }
  }
  /* Only the first ranks are members. */
  const int few[2] = {1, (size_ + 1) / 2}, around[2] = {1, 1};
  test_grid(2, few, around);
  test_grid(0, few, around);
  const int steps[5] = {1, 0, 1, 2, 3};
  for (int degree = 0; degree <= 5; ++degree) test_steps(degree, steps);
  test_lopsided();
  test_graph();
  test_wide();
  test_overlap();
  if (promised()) test_errors();
  MPI_Finalize();
  return 0;
}
