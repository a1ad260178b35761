/* How a datatype was created (MPI 5.0 section 5.1.13): every constructor in both forms, and the order of the
 * returned arguments. Error texts name the argument. */
#include <stdint.h>

#include "check.h"

enum { kRoom = 64 };

struct Contents {
  int integers[kRoom];
  MPI_Aint addresses[kRoom];
  MPI_Count counts[kRoom];
  MPI_Datatype types[kRoom];
  MPI_Count integer_count, address_count, large_count, type_count;
  int combiner;
};

static void read_contents(MPI_Datatype type, struct Contents* contents) {
  MPI_Type_get_envelope_c(type, &contents->integer_count, &contents->address_count, &contents->large_count,
                          &contents->type_count, &contents->combiner);
  MPI_Type_get_contents_c(type, contents->integer_count, contents->address_count, contents->large_count,
                          contents->type_count, contents->integers, contents->addresses, contents->counts,
                          contents->types);
}

static void expect_numbers(MPI_Datatype type, int combiner, int integers, int addresses, int counts,
                           int types) {
  struct Contents contents;
  read_contents(type, &contents);
  CHECK(contents.combiner == combiner, "combiner %d, not %d", contents.combiner, combiner);
  CHECK(contents.integer_count == integers && contents.address_count == addresses &&
            contents.large_count == counts && contents.type_count == types,
        "combiner %d: %lld integers, %lld addresses, %lld counts, %lld types", combiner,
        (long long)contents.integer_count, (long long)contents.address_count, (long long)contents.large_count,
        (long long)contents.type_count);
  int small_integers, small_addresses, small_types, small_combiner;
  const int code =
      MPI_Type_get_envelope(type, &small_integers, &small_addresses, &small_types, &small_combiner);
  if (counts > 0) {
    CHECK(class_of(code) == MPI_ERR_TYPE, "the small envelope of a large constructor");
  } else {
    CHECK(code == MPI_SUCCESS && small_integers == integers && small_addresses == addresses &&
              small_types == types && small_combiner == combiner,
          "the small envelope differs");
  }
  MPI_Type_free(&type);
}

static void test_small_forms(void) {
  const int lengths[] = {1, 2}, places[] = {0, 5}, sizes[] = {4, 5}, subsizes[] = {2, 3}, starts[] = {1, 1};
  const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
  const int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, grid[] = {2, 1};
  const MPI_Aint far[] = {0, 64};
  const MPI_Datatype members[] = {MPI_INT, MPI_DOUBLE};
  MPI_Datatype type;
  MPI_Type_contiguous(3, MPI_INT, &type);
  expect_numbers(type, MPI_COMBINER_CONTIGUOUS, 1, 0, 0, 1);
  MPI_Type_vector(3, 1, 2, MPI_INT, &type);
  expect_numbers(type, MPI_COMBINER_VECTOR, 3, 0, 0, 1);
  MPI_Type_create_hvector(3, 1, 20, MPI_INT, &type);
  expect_numbers(type, MPI_COMBINER_HVECTOR, 2, 1, 0, 1);
  MPI_Type_indexed(2, lengths, places, MPI_INT, &type);
  expect_numbers(type, MPI_COMBINER_INDEXED, 5, 0, 0, 1);
  MPI_Type_create_hindexed(2, lengths, far, MPI_INT, &type);
  expect_numbers(type, MPI_COMBINER_HINDEXED, 3, 2, 0, 1);
  MPI_Type_create_indexed_block(2, 3, places, MPI_INT, &type);
  expect_numbers(type, MPI_COMBINER_INDEXED_BLOCK, 4, 0, 0, 1);
  MPI_Type_create_hindexed_block(2, 3, far, MPI_INT, &type);
  expect_numbers(type, MPI_COMBINER_HINDEXED_BLOCK, 2, 2, 0, 1);
  MPI_Type_create_struct(2, lengths, far, members, &type);
  expect_numbers(type, MPI_COMBINER_STRUCT, 3, 2, 0, 2);
  MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &type);
  expect_numbers(type, MPI_COMBINER_SUBARRAY, 8, 0, 0, 1);
  MPI_Type_create_darray(2, 1, 2, sizes, kinds, arguments, grid, MPI_ORDER_C, MPI_INT, &type);
  expect_numbers(type, MPI_COMBINER_DARRAY, 12, 0, 0, 1);
  MPI_Type_create_resized(MPI_INT, 0, 16, &type);
  expect_numbers(type, MPI_COMBINER_RESIZED, 0, 2, 0, 1);
  MPI_Type_dup(MPI_INT, &type);
  expect_numbers(type, MPI_COMBINER_DUP, 0, 0, 0, 1);
}

static void test_large_forms(void) {
  const MPI_Count lengths[] = {1, 2}, places[] = {0, 64}, sizes[] = {4, 5}, subsizes[] = {2, 3},
                  starts[] = {1, 1};
  const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
  const int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, grid[] = {2, 1};
  const MPI_Datatype members[] = {MPI_INT, MPI_DOUBLE};
  MPI_Datatype type;
  MPI_Type_contiguous_c(3, MPI_INT, &type);
  expect_numbers(type, MPI_COMBINER_CONTIGUOUS, 0, 0, 1, 1);
  MPI_Type_vector_c(3, 1, 2, MPI_INT, &type);
  expect_numbers(type, MPI_COMBINER_VECTOR, 0, 0, 3, 1);
  MPI_Type_create_hvector_c(3, 1, 20, MPI_INT, &type);
  expect_numbers(type, MPI_COMBINER_HVECTOR, 0, 0, 3, 1);
  MPI_Type_indexed_c(2, lengths, places, MPI_INT, &type);
  expect_numbers(type, MPI_COMBINER_INDEXED, 0, 0, 5, 1);
  MPI_Type_create_hindexed_c(2, lengths, places, MPI_INT, &type);
  expect_numbers(type, MPI_COMBINER_HINDEXED, 0, 0, 5, 1);
  MPI_Type_create_indexed_block_c(2, 3, places, MPI_INT, &type);
  expect_numbers(type, MPI_COMBINER_INDEXED_BLOCK, 0, 0, 4, 1);
  MPI_Type_create_hindexed_block_c(2, 3, places, MPI_INT, &type);
  expect_numbers(type, MPI_COMBINER_HINDEXED_BLOCK, 0, 0, 4, 1);
  MPI_Type_create_struct_c(2, lengths, places, members, &type);
  expect_numbers(type, MPI_COMBINER_STRUCT, 0, 0, 5, 2);
  MPI_Type_create_subarray_c(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &type);
  expect_numbers(type, MPI_COMBINER_SUBARRAY, 2, 0, 6, 1);
  MPI_Type_create_darray_c(2, 1, 2, sizes, kinds, arguments, grid, MPI_ORDER_C, MPI_INT, &type);
  expect_numbers(type, MPI_COMBINER_DARRAY, 10, 0, 2, 1);
  MPI_Type_create_resized_c(MPI_INT, 0, 16, &type);
  expect_numbers(type, MPI_COMBINER_RESIZED, 0, 0, 2, 1);
}

static void test_order_of_contents(void) {
  const int lengths[] = {1, 2}, sizes[] = {4, 5}, kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
  const int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, grid[] = {2, 1};
  const MPI_Aint places[] = {8, 64};
  MPI_Datatype inner, type;
  MPI_Type_vector(2, 1, 3, MPI_INT, &inner);
  const MPI_Datatype members[] = {inner, MPI_DOUBLE};
  struct Contents got;
  MPI_Type_create_struct(2, lengths, places, members, &type);
  read_contents(type, &got);
  CHECK(got.integers[0] == 2 && got.integers[1] == 1 && got.integers[2] == 2 && got.addresses[0] == 8 &&
            got.addresses[1] == 64 && got.types[1] == MPI_DOUBLE,
        "the contents of a struct");
  MPI_Datatype vector = got.types[0];
  read_contents(vector, &got);
  CHECK(got.combiner == MPI_COMBINER_VECTOR && got.integers[0] == 2 && got.integers[1] == 1 &&
            got.integers[2] == 3 && got.types[0] == MPI_INT,
        "the contents of its member");
  MPI_Type_free(&vector);
  MPI_Type_free(&type);
  MPI_Type_free(&inner);

  const int want[] = {2, 1, 2, 4, 5, kinds[0], kinds[1], arguments[0], arguments[1], 2, 1, MPI_ORDER_FORTRAN};
  MPI_Type_create_darray(2, 1, 2, sizes, kinds, arguments, grid, MPI_ORDER_FORTRAN, MPI_INT, &type);
  read_contents(type, &got);
  for (int i = 0; i < 12; ++i) CHECK(got.integers[i] == want[i], "integer %d of a distributed array", i);
  MPI_Type_free(&type);
}

static void test_empty(void) {
  MPI_Datatype type;
  int size;
  MPI_Aint lower, extent;
  MPI_Type_create_struct(0, NULL, NULL, NULL, &type);
  MPI_Type_commit(&type);
  MPI_Type_size(type, &size);
  MPI_Type_get_extent(type, &lower, &extent);
  CHECK(size == 0 && lower == 0 && extent == 0, "a struct of nothing");
  MPI_Sendrecv(NULL, 1, type, 0, 0, NULL, 1, type, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  MPI_Type_free(&type);
  MPI_Type_indexed(0, NULL, NULL, MPI_INT, &type);
  MPI_Type_free(&type);
}

/* Predefined types without a constant: their properties, and that they cannot be freed. */
static void test_unnamed(void) {
  MPI_Datatype real, again, pair, row, freed;
  struct Contents got;
  MPI_Type_create_f90_real(10, MPI_UNDEFINED, &real);
  MPI_Type_create_f90_real(10, MPI_UNDEFINED, &again);
  CHECK(real == again, "two handles for one parametric type");
  read_contents(real, &got);
  CHECK(got.combiner == MPI_COMBINER_F90_REAL && got.integer_count == 2 && got.type_count == 0 &&
            got.integers[0] == 10 && got.integers[1] == MPI_UNDEFINED,
        "the contents of a parametric type");
  freed = real;
  /* Erroneous (MPI 5.0 section 19.1.6), but no library has to detect it. */
  if (promised()) expect_error(MPI_Type_free(&freed), MPI_ERR_TYPE, "cannot be freed");
  double numbers[2] = {1.5, 2.5}, sums[2] = {0, 0};
  MPI_Allreduce(numbers, sums, 2, real, MPI_SUM, MPI_COMM_SELF);
  CHECK(sums[0] == 1.5 && sums[1] == 2.5, "a sum of a parametric type");
  MPI_Type_contiguous(2, real, &row);
  read_contents(row, &got);
  CHECK(got.types[0] == real, "a parametric type comes back as another");
  MPI_Type_free(&row);

  MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair);
  CHECK(pair == MPI_DOUBLE_INT, "the pair of double and int has a name");
  /* MPI 5.0 section 6.9.4: MPI_DATATYPE_NULL if a library has no such pair. */
  MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT64_T, &pair);
  if (pair != MPI_DATATYPE_NULL) {
    struct {
      double value;
      int64_t index;
    } mine = {4.0, (int64_t)1 << 40}, best = {0, 0};
    read_contents(pair, &got);
    CHECK(got.combiner == MPI_COMBINER_VALUE_INDEX && got.type_count == 2 && got.types[0] == MPI_DOUBLE &&
              got.types[1] == MPI_INT64_T,
          "the contents of a pair");
    MPI_Allreduce(&mine, &best, 1, pair, MPI_MAXLOC, MPI_COMM_SELF);
    CHECK(best.value == 4.0 && best.index == (int64_t)1 << 40, "a pair with a large index");
  }
}

static void test_errors(void) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const int lengths[] = {1, -2}, places[] = {0, 5}, sizes[] = {4, 4}, subsizes[] = {1, 5};
  const MPI_Aint far[] = {0, 64};
  const MPI_Datatype members[] = {MPI_INT, MPI_DATATYPE_NULL};
  const int good[] = {1, 1};
  expect_error(MPI_Type_vector(-1, 1, 1, MPI_INT, &type), MPI_ERR_COUNT, "count is -1");
  expect_error(MPI_Type_indexed(2, lengths, places, MPI_INT, &type), MPI_ERR_ARG,
               "array_of_blocklengths[1] is -2");
  expect_error(MPI_Type_indexed(2, good, places, MPI_DATATYPE_NULL, &type), MPI_ERR_TYPE, "oldtype");
  expect_error(MPI_Type_create_struct(2, good, far, members, &type), MPI_ERR_TYPE, "array_of_types[1]");
  expect_error(MPI_Type_create_struct(2, good, NULL, members, &type), MPI_ERR_ARG, "array_of_displacements");
  expect_error(MPI_Type_create_subarray(2, sizes, subsizes, good, MPI_ORDER_C, MPI_INT, &type), MPI_ERR_ARG,
               "array_of_subsizes[1] is 5");
  CHECK(type == MPI_DATATYPE_NULL, "a failed constructor wrote a handle");
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  test_small_forms();
  test_large_forms();
  test_order_of_contents();
  test_empty();
  test_unnamed();
  /* No library has to detect invalid arguments. */
  if (promised()) test_errors();
  MPI_Finalize();
  return 0;
}
