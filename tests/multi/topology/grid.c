/* Grids: created, queried, divided, duplicated; with and without reordering. */
#include "../coll/check.h"

/* A message to the neighbour above and from the one below, along each dimension. */
static void check_shifts(MPI_Comm grid, const char* what) {
  int dimensions, rank;
  MPI_Cartdim_get(grid, &dimensions);
  MPI_Comm_rank(grid, &rank);
  int dims[8], periods[8], coords[8];
  MPI_Cart_get(grid, dimensions, dims, periods, coords);
  for (int d = 0; d < dimensions; ++d) {
    int below, above, got = -5, expected = -5;
    MPI_Cart_shift(grid, d, 1, &below, &above);
    MPI_Sendrecv(&rank, 1, MPI_INT, above, d, &got, 1, MPI_INT, below, d, grid, MPI_STATUS_IGNORE);
    int there[8];
    memcpy(there, coords, sizeof there);
    --there[d];
    if (periods[d] || there[d] >= 0) MPI_Cart_rank(grid, there, &expected);
    CHECK(got == expected, "%s: along dimension %d came %d, not %d", what, d, got, expected);
    CHECK((below == MPI_PROC_NULL) == (!periods[d] && coords[d] == 0), "%s: below is %d", what, below);
    CHECK((above == MPI_PROC_NULL) == (!periods[d] && coords[d] == dims[d] - 1), "%s: above", what);
    int far_below, far_above;
    MPI_Cart_shift(grid, d, -1, &far_below, &far_above);
    CHECK(far_below == above && far_above == below, "%s: a shift back", what);
    MPI_Cart_shift(grid, d, dims[d], &far_below, &far_above);
    CHECK(far_above == (periods[d] ? rank : MPI_PROC_NULL), "%s: once around is %d", what, far_above);
  }
}

static void check_grid(MPI_Comm grid, int dimensions, const int* dims, const int* periods, const char* what) {
  int status, found, size, rank, total = 1;
  MPI_Topo_test(grid, &status);
  CHECK(status == MPI_CART, "%s: a topology of kind %d", what, status);
  MPI_Cartdim_get(grid, &found);
  CHECK(found == dimensions, "%s: %d dimensions", what, found);
  int got_dims[8], got_periods[8], coords[8], own[8];
  MPI_Cart_get(grid, 8, got_dims, got_periods, own);
  for (int d = 0; d < dimensions; ++d) {
    CHECK(got_dims[d] == dims[d] && !got_periods[d] == !periods[d], "%s: dimension %d", what, d);
    total *= dims[d];
  }
  MPI_Comm_size(grid, &size);
  MPI_Comm_rank(grid, &rank);
  CHECK(size == total, "%s: %d ranks for %d places", what, size, total);
  for (int r = 0; r < size; ++r) {
    int place = r, back = -1;
    MPI_Cart_coords(grid, r, 8, coords);
    for (int d = dimensions - 1; d >= 0; --d) {
      CHECK(coords[d] == place % dims[d], "%s: coordinate %d of rank %d is %d", what, d, r, coords[d]);
      place /= dims[d];
    }
    MPI_Cart_rank(grid, coords, &back);
    CHECK(back == r, "%s: rank %d comes back as %d", what, r, back);
    if (r == rank) CHECK(memcmp(coords, own, sizeof(int) * (size_t)dimensions) == 0, "%s: own place", what);
  }
  check_shifts(grid, what);
}

static void test_grids(int dimensions, const int* dims, const int* periods, int reorder) {
  MPI_Comm grid, copy;
  int places = 1, new_rank, rank;
  for (int d = 0; d < dimensions; ++d) places *= dims[d];
  MPI_Cart_create(MPI_COMM_WORLD, dimensions, dims, periods, reorder, &grid);
  /* After the grid, because it then uses what was measured for the grid. */
  MPI_Cart_map(MPI_COMM_WORLD, dimensions, dims, periods, &new_rank);
  CHECK(!promised() || (new_rank == MPI_UNDEFINED) == (rank_ >= places), "the mapped rank is %d", new_rank);
  CHECK((grid == MPI_COMM_NULL) == (rank_ >= places), "who is in the grid of %d", places);
  if (grid == MPI_COMM_NULL) return;
  MPI_Comm_rank(grid, &rank);
  CHECK(!promised() || rank == (reorder ? new_rank : rank_), "the new rank is %d", rank);
  check_grid(grid, dimensions, dims, periods, "a grid");
  MPI_Comm_dup(grid, &copy);
  MPI_Comm_free(&grid);
  check_grid(copy, dimensions, dims, periods, "a duplicate");
  /* Every way to drop dimensions. */
  for (int mask = 0; mask < 1 << dimensions; ++mask) {
    int remain[8], part_dims[8] = {0}, part_periods[8] = {0}, kept = 0, coords[8];
    for (int d = 0; d < dimensions; ++d) {
      remain[d] = mask >> d & 1;
      if (!remain[d]) continue;
      part_dims[kept] = dims[d];
      part_periods[kept++] = periods[d];
    }
    MPI_Comm part;
    MPI_Cart_sub(copy, remain, &part);
    check_grid(part, kept, part_dims, part_periods, "a part");
    /* The coordinates of the dropped dimensions are the same within a part. */
    MPI_Cart_coords(copy, rank, 8, coords);
    for (int d = 0; d < dimensions; ++d) {
      int least, most;
      MPI_Allreduce(&coords[d], &least, 1, MPI_INT, MPI_MIN, part);
      MPI_Allreduce(&coords[d], &most, 1, MPI_INT, MPI_MAX, part);
      CHECK(remain[d] ? most - least == dims[d] - 1 : most == least, "coordinate %d goes from %d to %d", d,
            least, most);
    }
    MPI_Comm_free(&part);
  }
  /* A split communicator has no topology. */
  int status;
  MPI_Comm split;
  MPI_Comm_split(copy, 0, 0, &split);
  MPI_Topo_test(split, &status);
  CHECK(status == MPI_UNDEFINED, "a split has a topology");
  MPI_Comm_free(&split);
  MPI_Comm_free(&copy);
}

/* A grid inherits no attributes; a duplicate of it inherits all. */
static void test_attributes(void) {
  int key, flag, dims[1] = {size_}, periods[1] = {1};
  void* value;
  MPI_Comm grid, copy, start;
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &start);
  MPI_Comm_set_attr(start, key, &key);
  MPI_Cart_create(start, 1, dims, periods, 0, &grid);
  MPI_Comm_get_attr(grid, key, &value, &flag);
  CHECK(!flag, "an attribute came along into a grid");
  MPI_Comm_set_attr(grid, key, &flag);
  MPI_Comm_dup(grid, &copy);
  MPI_Comm_get_attr(copy, key, &value, &flag);
  CHECK(flag && value == &flag, "an attribute of a duplicate");
  MPI_Comm_free(&grid);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&start);
  MPI_Comm_free_keyval(&key);
}

static void test_errors(void) {
  MPI_Comm comm, grid = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int dims[2] = {size_ + 1, 1}, periods[2] = {0, 0}, number, coords[2] = {0, 0};
  CHECK(class_of(MPI_Cart_create(comm, 2, dims, periods, 0, &grid)) == MPI_ERR_DIMS, "too many places");
  dims[0] = 0;
  CHECK(class_of(MPI_Cart_create(comm, 2, dims, periods, 0, &grid)) == MPI_ERR_DIMS, "no places");
  CHECK(grid == MPI_COMM_NULL, "a grid after all");
  CHECK(class_of(MPI_Cart_create(comm, -1, dims, periods, 0, &grid)) == MPI_ERR_ARG, "-1 dimensions");
  CHECK(class_of(MPI_Cartdim_get(comm, &number)) == MPI_ERR_TOPOLOGY, "the dimensions of no grid");
  CHECK(class_of(MPI_Cart_rank(comm, coords, &number)) == MPI_ERR_TOPOLOGY, "a rank in no grid");
  dims[0] = size_;
  MPI_Cart_create(comm, 2, dims, periods, 0, &grid);
  CHECK(class_of(MPI_Cart_coords(grid, 0, 1, coords)) == MPI_ERR_ARG, "no room for coordinates");
  CHECK(class_of(MPI_Cart_coords(grid, size_, 2, coords)) == MPI_ERR_RANK, "coordinates of nobody");
  CHECK(class_of(MPI_Cart_shift(grid, 2, 1, &number, &number)) == MPI_ERR_DIMS, "a third dimension");
  coords[1] = 1;
  CHECK(class_of(MPI_Cart_rank(grid, coords, &number)) == MPI_ERR_ARG, "a place beyond the edge");
  int dims_to_make[2] = {size_ + 1, 0};
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  CHECK(class_of(MPI_Dims_create(size_, 2, dims_to_make)) == MPI_ERR_DIMS, "dimensions that do not divide");
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free(&grid);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  int status;
  MPI_Topo_test(MPI_COMM_WORLD, &status);
  CHECK(status == MPI_UNDEFINED, "all ranks have a topology");
  for (int dimensions = 1; dimensions <= 4; ++dimensions) {
    int dims[4] = {0, 0, 0, 0};
    MPI_Dims_create(size_, dimensions, dims);
    for (int mask = 0; mask < 1 << dimensions; mask += 1 + dimensions / 2) {
      const int periods[4] = {mask & 1, mask & 2, mask & 4, mask & 8};
      test_grids(dimensions, dims, periods, mask % 2);
    }
  }
  /* Not all ranks are members. */
  const int short_dims[2] = {1, (size_ + 1) / 2}, periods[2] = {1, 0};
  test_grids(2, short_dims, periods, 1);
  test_grids(0, short_dims, periods, 0);
  test_attributes();
  if (promised()) test_errors();
  MPI_Finalize();
  return 0;
}
