/* Division by hardware. The test runs on a made-up machine of two packages with one processor each; ranks are
   bound to them by turns (argument "bound") or not at all. */
#include "../coll/check.h"

static int size_of(MPI_Comm comm) {
  int size = 0;
  if (comm != MPI_COMM_NULL) MPI_Comm_size(comm, &size);
  return size;
}

/* The size of the part that a resource yields; 0 for none. */
static int part_of(MPI_Comm comm, int split_type, const char* key, const char* value) {
  MPI_Info info;
  MPI_Comm part;
  MPI_Info_create(&info);
  if (key != NULL) MPI_Info_set(info, key, value);
  MPI_Comm_split_type(comm, split_type, 0, info, &part);
  const int size = size_of(part);
  if (part != MPI_COMM_NULL) {
    int rank, sum = 0, one = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, part);
    MPI_Comm_rank(part, &rank);
    CHECK(sum == size, "a part of %d adds up to %d", size, sum);
    MPI_Comm_free(&part);
  }
  MPI_Info_free(&info);
  return size;
}

static int is_bound(const char* resource) {
  MPI_Info info;
  char value[8] = "";
  int flag, room = sizeof value;
  MPI_Get_hw_resource_info(&info);
  MPI_Info_get_string(info, resource, &room, value, &flag);
  CHECK(flag && (strcmp(value, "true") == 0 || strcmp(value, "false") == 0), "%s is \"%s\"", resource, value);
  MPI_Info_free(&info);
  return value[0] == 't';
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  const int bound = argc > 1;
  const int half = bound ? (size_ + 1 - rank_ % 2) / 2 : 0;
  const char* const key = "mpi_hw_resource_type";
  const int guided = MPI_COMM_TYPE_HW_GUIDED, resource = MPI_COMM_TYPE_RESOURCE_GUIDED;
  CHECK(is_bound("hwloc://Machine"), "every process is on the machine");
  CHECK(is_bound("hwloc://Package") == bound, "bound to a package");
  CHECK(is_bound("hwloc://Core") == bound, "bound to a core");
  CHECK(part_of(MPI_COMM_WORLD, guided, key, "mpi_shared_memory") == size_, "shared memory");
  CHECK(part_of(MPI_COMM_WORLD, guided, key, "hwloc://Machine") == size_, "the machine");
  CHECK(part_of(MPI_COMM_WORLD, guided, key, "hwloc://Package") == half, "packages");
  CHECK(part_of(MPI_COMM_WORLD, guided, key, "Package") == half, "packages, by their name alone");
  CHECK(part_of(MPI_COMM_WORLD, guided, key, "hwloc://Core") == half, "cores");
  CHECK(part_of(MPI_COMM_WORLD, resource, key, "hwloc://PU") == half, "processors");
  CHECK(part_of(MPI_COMM_WORLD, guided, key, "hwloc://Toaster") == 0, "no such hardware");
  CHECK(part_of(MPI_COMM_WORLD, guided, NULL, NULL) == 0, "no guide");
  CHECK(part_of(MPI_COMM_WORLD, guided, "mpi_pset_name", "mpi://WORLD") == 0,
        "a set of processes is no hardware");
  CHECK(part_of(MPI_COMM_WORLD, resource, "mpi_pset_name", "mpi://WORLD") == size_, "all processes");
  CHECK(part_of(MPI_COMM_WORLD, resource, "mpi_pset_name", "mpi://SELF") == 1, "each process");
  CHECK(part_of(MPI_COMM_WORLD, resource, "mpi_pset_name", "mpi://NOWHERE") == 0, "no such set");

  /* Without a guide: smaller and smaller parts until no division is left. */
  MPI_Comm part;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &part);
  CHECK(size_of(part) == (size_ > 1 ? half : 0), "without a guide: %d ranks", size_of(part));
  if (part != MPI_COMM_NULL) {
    char value[64] = "";
    int flag, room = sizeof value;
    MPI_Info_get_string(info, key, &room, value, &flag);
    CHECK(flag && strcmp(value, "hwloc://Package") == 0, "divided by \"%s\"", value);
    CHECK(part_of(part, MPI_COMM_TYPE_HW_UNGUIDED, NULL, NULL) == 0, "one processor was divided");
    MPI_Comm_free(&part);
  }
  MPI_Info_free(&info);

  /* Neighbours in a row are placed in the same package as far as they fit: one pair is in different
   * packages. */
  int periods[1] = {0}, number, above, below, mine, other = -1, apart = 0, pairs = 0;
  MPI_Comm row;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size_, periods, 1, &row);
  MPI_Comm_rank(row, &number);
  CHECK(bound || number == rank_, "rank %d became %d for no reason", rank_, number);
  mine = rank_ % 2; /* the package */
  MPI_Cart_shift(row, 0, 1, &below, &above);
  MPI_Sendrecv(&mine, 1, MPI_INT, above, 0, &other, 1, MPI_INT, below, 0, row, MPI_STATUS_IGNORE);
  apart = other != -1 && other != mine;
  MPI_Allreduce(&apart, &pairs, 1, MPI_INT, MPI_SUM, row);
  CHECK(!bound || pairs == (size_ > 1), "%d pairs of neighbours are apart", pairs);
  MPI_Comm_free(&row);
  MPI_Finalize();
  return 0;
}
