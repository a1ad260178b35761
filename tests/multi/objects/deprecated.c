/* Names of older versions that mpi.h still has: attributes of communicators as in MPI 1, which are the same
 * attributes as today's, and functions with large counts as in MPI 3. Any number of ranks. */
#include <limits.h>

#include "../coll/check.h"

static int copies_, deletions_;
static int extra_;

static int copy_value(MPI_Comm comm, int key, void* extra, void* value, void* copied, int* flag) {
  (void)comm;
  (void)key;
  CHECK(extra == &extra_, "the copying function gets another extra state");
  ++copies_;
  *(void**)copied = (char*)value + 1;
  *flag = 1;
  return MPI_SUCCESS;
}

static int delete_value(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm;
  (void)key;
  (void)value;
  CHECK(extra == &extra_, "the deleting function gets another extra state");
  ++deletions_;
  return MPI_SUCCESS;
}

static void expect_value(MPI_Comm comm, int key, const void* want, const char* what) {
  void* old_way = NULL;
  void* new_way = NULL;
  int found_old = -1, found_new = -1;
  MPI_Attr_get(comm, key, &old_way, &found_old);
  MPI_Comm_get_attr(comm, key, &new_way, &found_new);
  CHECK((found_old != 0) == (want != NULL) && (found_new != 0) == (want != NULL), "%s: found %d, %d", what,
        found_old, found_new);
  CHECK(want == NULL || (old_way == want && new_way == want), "%s: another value", what);
}

static void test_attributes(void) {
  static char values[4];
  MPI_Comm comm, copy;
  int with_functions, copied, not_copied;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Keyval_create(copy_value, delete_value, &with_functions, &extra_);
  MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, &copied, NULL);
  MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &not_copied, NULL);
  expect_value(comm, copied, NULL, "before it is set");
  MPI_Attr_put(comm, with_functions, &values[0]);
  MPI_Attr_put(comm, copied, &values[2]);
  MPI_Comm_set_attr(comm, not_copied, &values[3]);
  expect_value(comm, with_functions, &values[0], "set as in MPI 1");
  expect_value(comm, not_copied, &values[3], "set as today");

  MPI_Comm_dup(comm, &copy);
  CHECK(copies_ == 1, "%d copies", copies_);
  expect_value(copy, with_functions, &values[1], "copied by a function");
  expect_value(copy, copied, &values[2], "copied by MPI_DUP_FN");
  expect_value(copy, not_copied, NULL, "not copied, by MPI_NULL_COPY_FN");

  MPI_Attr_put(copy, with_functions, &values[3]);
  CHECK(deletions_ == 1, "%d deletions when a value was replaced", deletions_);
  MPI_Attr_delete(copy, with_functions);
  CHECK(deletions_ == 2, "%d deletions", deletions_);
  expect_value(copy, with_functions, NULL, "deleted");
  MPI_Comm_delete_attr(copy, copied);
  expect_value(copy, copied, NULL, "deleted as today");

  int key = with_functions;
  MPI_Keyval_free(&key);
  CHECK(key == MPI_KEYVAL_INVALID, "the key is not set to MPI_KEYVAL_INVALID");
  MPI_Keyval_free(&copied);
  MPI_Comm_free_keyval(&not_copied);
  MPI_Comm_free(&copy);
  CHECK(deletions_ == 2, "%d deletions", deletions_);
  MPI_Comm_free(&comm);
  CHECK(deletions_ == 3, "%d deletions when the last communicator was freed", deletions_);

  int* tag_max = NULL;
  int found = 0;
  MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, &tag_max, &found);
  CHECK(found && *tag_max >= 32767, "MPI_TAG_UB");
}

static void test_large_counts(void) {
  MPI_Datatype some, gapped, many;
  MPI_Count size = -1, lower = -1, extent = -1, elements = -1;
  const MPI_Count all = (MPI_Count)3 * INT_MAX;
  MPI_Type_contiguous(INT_MAX, MPI_BYTE, &some);
  MPI_Type_contiguous(3, some, &many);
  MPI_Type_size_x(many, &size);
  CHECK(size == all, "MPI_Type_size_x: %lld", (long long)size);
  MPI_Type_create_resized(many, -5, 4 * (MPI_Aint)INT_MAX, &gapped);
  MPI_Type_get_extent_x(gapped, &lower, &extent);
  CHECK(lower == -5 && extent == (MPI_Count)4 * INT_MAX, "MPI_Type_get_extent_x: %lld, %lld",
        (long long)lower, (long long)extent);
  MPI_Type_get_true_extent_x(gapped, &lower, &extent);
  CHECK(lower == 0 && extent == all, "MPI_Type_get_true_extent_x: %lld, %lld", (long long)lower,
        (long long)extent);
  MPI_Status status;
  int small = 0;
  memset(&status, 0, sizeof status);
  MPI_Status_set_elements_x(&status, MPI_BYTE, all);
  MPI_Get_elements_x(&status, MPI_BYTE, &elements);
  MPI_Get_elements(&status, MPI_BYTE, &small);
  CHECK(elements == all && small == MPI_UNDEFINED, "MPI_Get_elements_x: %lld, MPI_Get_elements: %d",
        (long long)elements, small);
  MPI_Type_free(&some);
  MPI_Type_free(&many);
  MPI_Type_free(&gapped);
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  test_attributes();
  test_large_counts();
  MPI_Finalize();
  return 0;
}
