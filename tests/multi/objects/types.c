/* Datatypes: sizes and bounds, how they were created, names and attributes, and effects that outlast
 * MPI_Type_free. */
#include "../coll/check.h"

static void test_bounds(void) {
  MPI_Datatype gapped, row;
  MPI_Type_create_resized(MPI_DOUBLE, -8, 24, &gapped);
  MPI_Type_contiguous(5, gapped, &row);
  int size;
  MPI_Aint lower, extent;
  MPI_Count large_size, large_lower, large_extent;
  MPI_Type_size(row, &size);
  MPI_Type_get_extent(row, &lower, &extent);
  CHECK(size == 40 && lower == -8 && extent == 120, "size %d, lower bound %ld, extent %ld", size, (long)lower,
        (long)extent);
  MPI_Type_get_true_extent(row, &lower, &extent);
  CHECK(lower == 0 && extent == 4 * 24 + 8, "true lower bound %ld, true extent %ld", (long)lower,
        (long)extent);
  MPI_Type_size_c(row, &large_size);
  MPI_Type_get_extent_c(row, &large_lower, &large_extent);
  CHECK(large_size == 40 && large_lower == -8 && large_extent == 120, "the large forms differ");
  MPI_Type_free(&row);
  CHECK(row == MPI_DATATYPE_NULL, "Type_free left a handle");
  MPI_Type_free(&gapped);

  /* Larger than an int can express. */
  MPI_Type_contiguous_c((MPI_Count)3 << 30, MPI_DOUBLE, &row);
  MPI_Type_size_c(row, &large_size);
  CHECK(large_size == (MPI_Count)24 << 30, "a large type");
  MPI_Type_size(row, &size);
  CHECK(size == MPI_UNDEFINED, "the size of a large type as int is %d", size);
  MPI_Type_free(&row);
}

static void test_contents(void) {
  MPI_Datatype inner, outer, got[1];
  MPI_Type_create_resized(MPI_INT, 4, 16, &inner);
  MPI_Type_contiguous(6, inner, &outer);
  int integers, addresses, types, combiner, values[1];
  MPI_Type_get_envelope(outer, &integers, &addresses, &types, &combiner);
  CHECK(integers == 1 && addresses == 0 && types == 1 && combiner == MPI_COMBINER_CONTIGUOUS, "the envelope");
  MPI_Type_get_contents(outer, 1, 0, 1, values, NULL, got);
  CHECK(values[0] == 6 && got[0] != MPI_INT, "the contents");
  /* The caller frees the returned types; the original stays. */
  MPI_Type_free(&got[0]);
  MPI_Type_free(&inner);
  MPI_Type_get_contents(outer, 1, 0, 1, values, NULL, got);
  MPI_Aint bounds[2];
  MPI_Datatype base[1];
  MPI_Type_get_envelope(got[0], &integers, &addresses, &types, &combiner);
  CHECK(integers == 0 && addresses == 2 && types == 1 && combiner == MPI_COMBINER_RESIZED,
        "the inner envelope");
  MPI_Type_get_contents(got[0], 0, 2, 1, NULL, bounds, base);
  CHECK(bounds[0] == 4 && bounds[1] == 16 && base[0] == MPI_INT, "the inner contents");
  MPI_Type_free(&got[0]);
  if (promised())
    CHECK(class_of(MPI_Type_get_contents(outer, 0, 0, 1, values, NULL, got)) == MPI_ERR_ARG,
          "too little room");
  CHECK(class_of(MPI_Type_get_contents(MPI_INT, 0, 0, 0, NULL, NULL, NULL)) == MPI_ERR_TYPE,
        "contents of MPI_INT");
  MPI_Type_get_envelope(MPI_INT, &integers, &addresses, &types, &combiner);
  CHECK(combiner == MPI_COMBINER_NAMED && integers == 0 && types == 0, "the envelope of MPI_INT");
  MPI_Type_free(&outer);
}

static int copy_attribute(MPI_Datatype type, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)type;
  (void)keyval;
  (void)extra;
  *(void**)out = (char*)in + 5;
  *flag = 1;
  return MPI_SUCCESS;
}
static int deletes;
static int delete_attribute(MPI_Datatype type, int keyval, void* value, void* extra) {
  (void)type;
  (void)keyval;
  (void)value;
  (void)extra;
  ++deletes;
  return MPI_SUCCESS;
}

static void test_dup_names_attributes(void) {
  char name[MPI_MAX_OBJECT_NAME];
  int length, key, flag, combiner, count, size;
  void* value;
  MPI_Type_get_name(MPI_DOUBLE, name, &length);
  CHECK(strcmp(name, "MPI_DOUBLE") == 0, "the name of MPI_DOUBLE is %s", name);
  MPI_Datatype type, copy;
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_get_name(type, name, &length);
  CHECK(length == 0, "a new type has a name");
  MPI_Type_set_name(type, "two numbers");
  MPI_Type_create_keyval(copy_attribute, delete_attribute, &key, NULL);
  MPI_Type_set_attr(type, key, (void*)10);
  MPI_Type_commit(&type);
  MPI_Type_dup(type, &copy);
  MPI_Type_get_attr(copy, key, &value, &flag);
  CHECK(flag && value == (void*)15, "the attribute of a duplicate");
  MPI_Type_get_envelope(copy, &count, &count, &count, &combiner);
  CHECK(combiner == MPI_COMBINER_DUP, "the envelope of a duplicate");
  MPI_Type_free(&type);
  MPI_Type_free(&copy);
  CHECK(deletes == 2, "%d attributes deleted", deletes);
  MPI_Type_free_keyval(&key);

  /* More than section 6.9.2 of the standard requires. */
  if (promised()) {
    MPI_Type_dup(MPI_INT, &copy);
    int in = 3, out = 4;
    CHECK(MPI_Reduce_local(&in, &out, 1, copy, MPI_SUM) == MPI_SUCCESS && out == 7,
          "a sum with a duplicate of MPI_INT");
    MPI_Type_free(&copy);
  }

  MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 8, &type);
  CHECK(type == MPI_INTEGER8, "the integer of 8 bytes");
  MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, &type);
  CHECK(type == MPI_COMPLEX16, "the complex number of 16 bytes");
  CHECK(class_of(MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &type)) == MPI_ERR_ARG, "a real of 3 bytes");
#ifdef MPI_REAL2
  MPI_Type_size(MPI_REAL2, &size);
  CHECK(size == 2, "half precision has %d bytes", size);
#endif
}

/* A type that is freed while messages need it. */
static void test_free_early(int rank, int ranks) {
  MPI_Datatype gapped;
  MPI_Type_create_resized(MPI_INT, 0, 12, &gapped);
  MPI_Type_commit(&gapped);
  const MPI_Datatype stale = gapped;
  enum { kCount = 50000 };
  int* out = malloc(sizeof(int) * 3 * kCount);
  int* in = calloc(3 * kCount, sizeof(int));
  for (int i = 0; i < 3 * kCount; ++i) out[i] = rank * 1000000 + i;
  const int other = ranks - 1 - rank;
  MPI_Request requests[2];
  MPI_Irecv(in, kCount, gapped, other, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, kCount, gapped, other, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Type_free(&gapped);
  if (promised())
    CHECK(class_of(MPI_Send(out, 1, stale, other, 1, MPI_COMM_WORLD)) == MPI_ERR_TYPE, "a freed type");
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 3 * kCount; ++i)
    CHECK(in[i] == (i % 3 == 0 ? other * 1000000 + i : 0), "number %d is %d", i, in[i]);
  free(out);
  free(in);
}

static void test_errors(void) {
  MPI_Datatype type, none = MPI_DATATYPE_NULL, named = MPI_INT;
  int value = 0;
  MPI_Type_contiguous(2, MPI_INT, &type);
  CHECK(class_of(MPI_Send(&value, 1, type, MPI_PROC_NULL, 0, MPI_COMM_WORLD)) == MPI_ERR_TYPE,
        "not committed");
  CHECK(class_of(MPI_Type_free(&named)) == MPI_ERR_TYPE && named == MPI_INT, "freeing MPI_INT");
  CHECK(class_of(MPI_Type_free(&none)) == MPI_ERR_TYPE, "freeing nothing");
  CHECK(class_of(MPI_Type_contiguous(-1, MPI_INT, &none)) == MPI_ERR_COUNT, "a negative count");
  MPI_Type_free(&type);
  MPI_Op op = MPI_SUM;
  CHECK(class_of(MPI_Op_free(&op)) == MPI_ERR_OP && op == MPI_SUM, "freeing MPI_SUM");
  CHECK(class_of(MPI_Op_create(NULL, 1, &op)) == MPI_ERR_ARG, "an operation without function");
  MPI_Group empty = MPI_GROUP_EMPTY;
  CHECK(MPI_Group_free(&empty) == MPI_SUCCESS && empty == MPI_GROUP_NULL, "freeing MPI_GROUP_EMPTY");
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  test_bounds();
  test_contents();
  test_dup_names_attributes();
  test_free_early(rank_, size_);
  if (promised()) test_errors();
  MPI_Finalize();
  return 0;
}
