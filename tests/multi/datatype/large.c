/* Large counts: a datatype of more elements than an int can count, and positions of MPI_Count. */
#include "check.h"

/* More elements than an int can count, in little memory: an overlapping type is valid for sending. */
static void test_many(int rank, int ranks) {
  const MPI_Count count = ((MPI_Count)1 << 31) + 5;
  MPI_Datatype same, all;
  MPI_Type_create_hvector_c(count, 1, 0, MPI_CHAR, &same);
  MPI_Type_commit(&same);
  MPI_Count size, extent, lower;
  MPI_Type_size_c(same, &size);
  MPI_Type_get_true_extent_c(same, &lower, &extent);
  CHECK(size == count && extent == 1, "size %lld, extent %lld", (long long)size, (long long)extent);
  /* A part of it starting in the middle, by MPI_Pack_c from a small type. */
  MPI_Type_create_hvector_c(1000, 1, 0, MPI_CHAR, &all);
  MPI_Type_commit(&all);
  char letter = (char)('a' + rank), got[1000];
  const int left = (rank + ranks - 1) % ranks;
  MPI_Sendrecv(&letter, 1, all, (rank + 1) % ranks, 3, got, 1000, MPI_CHAR, left, 3, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (int i = 0; i < 1000; ++i) CHECK(got[i] == 'a' + left, "letter %d", i);
  MPI_Type_free(&same);
  MPI_Type_free(&all);
}

static void test_positions(void) {
  char buffer[64];
  const int numbers[4] = {1, 2, 3, 4};
  int got[4] = {0};
  MPI_Count position = 0, size;
  MPI_Pack_size_c(4, MPI_INT, MPI_COMM_SELF, &size);
  CHECK(size >= 16, "MPI_Pack_size_c says %lld", (long long)size);
  MPI_Pack_c(numbers, 4, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_SELF);
  CHECK(position == 16, "position %lld", (long long)position);
  position = 0;
  MPI_Unpack_c(buffer, 16, &position, got, 4, MPI_INT, MPI_COMM_SELF);
  CHECK(position == 16 && got[3] == 4, "unpacked");
  position = 0;
  MPI_Pack_external_c("external32", numbers, 1, MPI_INT, buffer, sizeof buffer, &position);
  CHECK(position == 4 && buffer[3] == 1, "external32");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  test_many(rank, ranks);
  test_positions();
  MPI_Finalize();
  return 0;
}
