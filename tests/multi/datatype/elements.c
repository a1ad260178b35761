/* Messages that end inside an element: counts of basic elements (MPI 5.0 section 5.1.11). A pair such as
 * MPI_DOUBLE_INT is two basic elements, as if created by MPI_Type_create_struct (section 6.9.4). */
#include "check.h"

/* A message that ends inside an element. */
static void test_partial(void) {
  const int lengths[] = {2, 1, 1};
  const MPI_Aint places[] = {0, 16, 24};
  const MPI_Datatype members[] = {MPI_INT, MPI_DOUBLE, MPI_DOUBLE_INT};
  MPI_Datatype type;
  MPI_Type_create_struct(3, lengths, places, members, &type);
  MPI_Type_commit(&type);
  char packed[28 * 2], memory[256];
  memset(packed, 0, sizeof packed);
  const struct {
    int bytes, basics;
  } cases[] = {{0, 0}, {4, 1}, {8, 2}, {16, 3}, {24, 4}, {28, 5}, {32, 6}, {44, 8}, {30, MPI_UNDEFINED}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    MPI_Status status;
    int count, basics;
    MPI_Count large;
    MPI_Sendrecv(packed, cases[i].bytes, MPI_BYTE, 0, 1, memory, 2, type, 0, 1, MPI_COMM_SELF, &status);
    MPI_Get_elements(&status, type, &basics);
    CHECK(basics == cases[i].basics, "%d basic elements in %d bytes, not %d", basics, cases[i].bytes,
          cases[i].basics);
    MPI_Get_elements_x(&status, type, &large);
    CHECK(large == cases[i].basics, "MPI_Get_elements_x differs");
    MPI_Get_count(&status, type, &count);
    CHECK(count == (cases[i].bytes % 28 == 0 ? cases[i].bytes / 28 : MPI_UNDEFINED), "count %d", count);
    if (cases[i].basics != MPI_UNDEFINED) {
      MPI_Status set;
      memset(&set, 0, sizeof set);
      MPI_Status_set_elements(&set, type, cases[i].basics);
      MPI_Get_elements(&set, type, &basics);
      CHECK(basics == cases[i].basics, "%d basic elements set, %d got", cases[i].basics, basics);
    }
  }
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  test_partial();
  MPI_Finalize();
  return 0;
}
