/* Datatypes where definitions are easy to get wrong (MPI 5.0 sections 5.1, 5.2, 14.5.2): types without data,
 * backward strides, negative extents, sizes that do not fit an int, messages that end inside nested types,
 * every predefined type in external32, the parametric types of Fortran, and attributes whose deletion fails.
 * Any number of ranks. */
#include <stdint.h>

#include "check.h"

static void expect_bounds(MPI_Datatype type, int size, MPI_Aint lower, MPI_Aint extent, MPI_Aint true_lower,
                          MPI_Aint true_extent, const char* what) {
  int got;
  MPI_Aint at, length;
  MPI_Type_size(type, &got);
  CHECK(got == size, "%s: size %d, not %d", what, got, size);
  MPI_Type_get_extent(type, &at, &length);
  CHECK(at == lower && length == extent, "%s: lower bound %ld, extent %ld, not %ld, %ld", what, (long)at,
        (long)length, (long)lower, (long)extent);
  MPI_Type_get_true_extent(type, &at, &length);
  CHECK(at == true_lower && length == true_extent, "%s: true lower bound %ld, true extent %ld, not %ld, %ld",
        what, (long)at, (long)length, (long)true_lower, (long)true_extent);
}

/* Checks that the elements of `type` at `ints` are packed as the numbers `want`, and that unpacking restores
 * them. */
static void expect_order(MPI_Datatype type, int count, int* ints, int length, int begin, const int* want,
                         int wanted, const char* what) {
  int packed[64], position = 0;
  for (int i = 0; i < length; ++i) ints[i] = 100 + i;
  MPI_Type_commit(&type);
  MPI_Pack(ints + begin, count, type, packed, sizeof packed, &position, MPI_COMM_SELF);
  CHECK(position == wanted * (int)sizeof(int), "%s: %d bytes packed", what, position);
  for (int i = 0; i < wanted; ++i)
    CHECK(packed[i] == 100 + want[i], "%s: number %d is from place %d, not %d", what, i, packed[i] - 100,
          want[i]);
  memset(ints, -1, (size_t)length * sizeof(int));
  position = 0;
  MPI_Unpack(packed, (int)sizeof packed, &position, ints + begin, count, type, MPI_COMM_SELF);
  for (int i = 0; i < length; ++i) {
    int there = -1;
    for (int k = 0; k < wanted; ++k) there = want[k] == i ? 100 + i : there;
    CHECK(ints[i] == there, "%s: place %d holds %d, not %d", what, i, ints[i], there);
  }
  MPI_Status status;
  int basics;
  memset(ints, -1, (size_t)length * sizeof(int));
  MPI_Sendrecv(packed, wanted, MPI_INT, 0, 1, ints + begin, count, type, 0, 1, MPI_COMM_SELF, &status);
  MPI_Get_elements(&status, type, &basics);
  CHECK(basics == wanted, "%s: %d numbers received", what, basics);
  for (int k = 0; k < wanted; ++k)
    CHECK(ints[want[k]] == 100 + want[k], "%s: place %d holds %d", what, want[k], ints[want[k]]);
}

static void test_without_data(void) {
  const int none[] = {0, 0}, far[] = {5, -7};
  const MPI_Aint places[] = {40, -80};
  const MPI_Datatype members[] = {MPI_DOUBLE, MPI_INT};
  MPI_Datatype types[7], more;
  int n = 0;
  MPI_Type_contiguous(0, MPI_DOUBLE, &types[n++]);
  MPI_Type_vector(0, 3, 5, MPI_INT, &types[n++]);
  MPI_Type_vector(4, 0, -5, MPI_INT, &types[n++]);
  MPI_Type_indexed(2, none, far, MPI_INT, &types[n++]);
  MPI_Type_create_struct(2, none, places, members, &types[n++]);
  MPI_Type_create_hindexed_block(2, 0, places, MPI_INT, &types[n++]);
  MPI_Type_contiguous(9, types[0], &types[n++]);
  for (int i = 0; i < n; ++i) {
    MPI_Status status;
    int count = -1, basics = -1, bytes = -1, position = 0;
    char byte = 1;
    expect_bounds(types[i], 0, 0, 0, 0, 0, "without data");
    MPI_Type_commit(&types[i]);
    MPI_Sendrecv(NULL, 5, types[i], 0, 3, &byte, 0, MPI_BYTE, 0, 3, MPI_COMM_SELF, &status);
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    CHECK(bytes == 0, "5 elements without data are %d bytes", bytes);
    MPI_Sendrecv(NULL, 0, MPI_INT, 0, 3, NULL, 7, types[i], 0, 3, MPI_COMM_SELF, &status);
    MPI_Get_count(&status, types[i], &count);
    MPI_Get_elements(&status, types[i], &basics);
    CHECK(count == 0 && basics == 0, "nothing received: count %d, %d basic elements", count, basics);
    MPI_Pack_size(1000, types[i], MPI_COMM_SELF, &bytes);
    MPI_Pack(&byte, 1000, types[i], &byte, 1, &position, MPI_COMM_SELF);
    CHECK(position == 0 && byte == 1, "nothing packed takes %d bytes", position);
    MPI_Bcast(&byte, 3, types[i], 0, MPI_COMM_SELF);
    MPI_Allgather(&byte, 2, types[i], &byte, 0, MPI_INT, MPI_COMM_SELF);
    CHECK(byte == 1, "a collective without data writes");
  }
  /* An empty type may have explicit bounds, which count like those of data. */
  MPI_Type_create_resized(types[0], -4, 16, &more);
  expect_bounds(more, 0, -4, 16, 0, 0, "nothing with bounds");
  MPI_Datatype three, beside;
  MPI_Type_contiguous(3, more, &three);
  expect_bounds(three, 0, -4, 48, 0, 0, "three times nothing with bounds");
  const int one[] = {1, 1};
  const MPI_Aint both[] = {0, 100};
  const MPI_Datatype pair[] = {MPI_INT, more};
  MPI_Type_create_struct(2, one, both, pair, &beside);
  expect_bounds(beside, 4, 96, 16, 0, 4, "a number and bounds that are given");
  MPI_Type_free(&beside);
  /* A member with count 0 leaves no bounds. */
  const int once[] = {1, 0};
  MPI_Type_create_struct(2, once, both, pair, &beside);
  expect_bounds(beside, 4, 0, 4, 0, 4, "a member that is there no times");
  MPI_Type_free(&beside);
  MPI_Type_free(&three);
  MPI_Type_free(&more);
  for (int i = 0; i < n; ++i) MPI_Type_free(&types[i]);
}

static void test_backwards(void) {
  int ints[32];
  MPI_Datatype type, back, outer;
  MPI_Type_vector(3, 2, -4, MPI_INT, &type);
  expect_bounds(type, 24, -32, 40, -32, 40, "a vector backwards");
  const int vector[] = {8, 9, 4, 5, 0, 1, 18, 19, 14, 15, 10, 11};
  expect_order(type, 2, ints, 32, 8, vector, 12, "a vector backwards");
  MPI_Type_free(&type);

  /* The next element precedes this one. */
  MPI_Type_create_resized(MPI_INT, 0, -(MPI_Aint)sizeof(int), &back);
  expect_bounds(back, 4, 0, -4, 0, 4, "an extent below zero");
  const int falling[] = {3, 2, 1, 0};
  expect_order(back, 4, ints, 8, 3, falling, 4, "elements in falling order");
  MPI_Type_contiguous(3, back, &type);
  expect_bounds(type, 12, -8, 4, -8, 12, "three elements in falling order");
  const int threes[] = {2, 1, 0, 3, 2, 1};
  int packed[8], position = 0;
  for (int i = 0; i < 8; ++i) ints[i] = i;
  MPI_Type_commit(&type);
  MPI_Pack(ints + 2, 2, type, packed, sizeof packed, &position, MPI_COMM_SELF);
  CHECK(position == 24 && memcmp(packed, threes, 24) == 0, "two times three elements in falling order");
  MPI_Type_free(&type);
  MPI_Type_free(&back);

  const int lengths[] = {2, 1, 3}, places[] = {4, -2, 0};
  MPI_Type_indexed(3, lengths, places, MPI_INT, &type);
  expect_bounds(type, 24, -8, 32, -8, 32, "blocks before the buffer");
  const int indexed[] = {8, 9, 2, 4, 5, 6};
  expect_order(type, 1, ints, 16, 4, indexed, 6, "blocks before the buffer");
  /* Every second element of that type, the last one first. */
  MPI_Type_create_hvector(2, 1, -12 * (MPI_Aint)sizeof(int), type, &outer);
  const int nested[] = {20, 21, 14, 16, 17, 18, 8, 9, 2, 4, 5, 6};
  expect_order(outer, 1, ints, 32, 16, nested, 12, "a vector backwards of blocks");
  MPI_Type_free(&outer);
  MPI_Type_free(&type);
}

/* Like a compiler: extents are rounded up to the strictest alignment (section 5.1.6). */
static void test_padding(void) {
  const int one[] = {1, 1};
  const MPI_Aint doubles_first[] = {0, 8}, late[] = {3, 8}, shorts[] = {1, 3};
  const MPI_Datatype double_char[] = {MPI_DOUBLE, MPI_CHAR}, char_int[] = {MPI_CHAR, MPI_INT},
                     two_shorts[] = {MPI_SHORT, MPI_CHAR};
  MPI_Datatype type, row;
  MPI_Type_create_struct(2, one, doubles_first, double_char, &type);
  expect_bounds(type, 9, 0, 16, 0, 9, "a double and a character");
  MPI_Type_contiguous(3, type, &row);
  expect_bounds(row, 27, 0, 48, 0, 41, "three of them");
  MPI_Type_free(&row);
  MPI_Type_create_resized(type, 0, 9, &row);
  expect_bounds(row, 9, 0, 9, 0, 9, "the same without padding");
  MPI_Type_free(&row);
  MPI_Type_free(&type);
  MPI_Type_create_struct(2, one, late, char_int, &type);
  expect_bounds(type, 5, 3, 12, 3, 9, "a character that begins late");
  MPI_Type_free(&type);
  MPI_Type_create_struct(2, one, shorts, two_shorts, &type);
  expect_bounds(type, 3, 1, 4, 1, 3, "an odd place for a short");
  MPI_Type_free(&type);
}

/* A message that ends inside nested types. */
static void test_partial(void) {
  const int lengths[] = {1, 0, 2}, ones[] = {1, 1};
  const MPI_Aint places[] = {0, 8, 16};
  MPI_Datatype inner, copy, wide, row, all;
  const MPI_Datatype members[] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT};
  MPI_Type_create_struct(3, lengths, places, members, &inner); /* c s s: 5 bytes */
  MPI_Type_dup(inner, &copy);
  MPI_Type_create_resized(copy, -8, 64, &wide);
  MPI_Type_vector(2, 1, 2, wide, &row); /* 10 bytes, 6 numbers */
  const MPI_Aint far[] = {0, 512};
  const MPI_Datatype both[] = {row, MPI_INT};
  MPI_Type_create_struct(2, ones, far, both, &all); /* 14 bytes, 7 numbers */
  MPI_Type_commit(&all);
  const struct {
    int bytes, basics, count;
  } cases[] = {{0, 0, 0},
               {1, 1, MPI_UNDEFINED},
               {2, MPI_UNDEFINED, MPI_UNDEFINED},
               {3, 2, MPI_UNDEFINED},
               {5, 3, MPI_UNDEFINED},
               {6, 4, MPI_UNDEFINED},
               {10, 6, MPI_UNDEFINED},
               {12, MPI_UNDEFINED, MPI_UNDEFINED},
               {14, 7, 1},
               {15, 8, MPI_UNDEFINED},
               {28, 14, 2}};
  static char memory[2048];
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    char packed[32] = {0};
    int basics, count;
    MPI_Status status;
    MPI_Sendrecv(packed, cases[i].bytes, MPI_BYTE, 0, 1, memory + 512, 2, all, 0, 1, MPI_COMM_SELF, &status);
    MPI_Get_elements(&status, all, &basics);
    MPI_Get_count(&status, all, &count);
    CHECK(basics == cases[i].basics && count == cases[i].count, "%d bytes: %d basic elements, count %d",
          cases[i].bytes, basics, count);
    if (basics == MPI_UNDEFINED) continue;
    MPI_Status set = status;
    int bytes;
    MPI_Status_set_elements(&set, all, basics);
    MPI_Get_count(&set, MPI_BYTE, &bytes);
    CHECK(bytes == cases[i].bytes, "%d basic elements set are %d bytes", basics, bytes);
  }
  MPI_Datatype* const made[] = {&inner, &copy, &wide, &row, &all};
  for (size_t i = 0; i < sizeof made / sizeof made[0]; ++i) MPI_Type_free(made[i]);
}

#if MPI_VERSION >= 4
static void test_huge(void) {
  const MPI_Count many = (MPI_Count)1 << 40, far = (MPI_Count)1 << 33;
  MPI_Datatype type, again;
  MPI_Count size, lower, extent;
  int count, basics;
  MPI_Type_vector_c(many, 1, -2, MPI_INT, &type);
  MPI_Type_size_c(type, &size);
  MPI_Type_get_extent_c(type, &lower, &extent);
  CHECK(size == 4 * many && lower == -8 * (many - 1) && extent == 8 * (many - 1) + 4,
        "a huge vector backwards: size %lld, lower bound %lld, extent %lld", (long long)size,
        (long long)lower, (long long)extent);
  MPI_Type_get_true_extent_c(type, &lower, &extent);
  CHECK(lower == -8 * (many - 1) && extent == 8 * (many - 1) + 4, "its true extent");
  MPI_Type_size(type, &count);
  CHECK(count == MPI_UNDEFINED, "its size as an int is %d", count);
  MPI_Type_free(&type);

  /* Two numbers at displacements of more than 8 GiB; the base address is shifted so that both lie in
   * `from`. */
  const MPI_Count places[] = {far, far + 8};
  MPI_Type_create_hindexed_block_c(2, 1, places, MPI_INT, &type);
  MPI_Type_commit(&type);
  int from[] = {7, 0, 8, 0}, to[2] = {0, 0};
  MPI_Sendrecv((char*)((intptr_t)from - (intptr_t)far), 1, type, 0, 0, to, 2, MPI_INT, 0, 0, MPI_COMM_SELF,
               MPI_STATUS_IGNORE);
  CHECK(to[0] == 7 && to[1] == 8, "places beyond 2^32: %d, %d", to[0], to[1]);
  MPI_Type_free(&type);

  MPI_Status status;
  memset(&status, 0, sizeof status);
  MPI_Status_set_elements_c(&status, MPI_SHORT, far);
  MPI_Get_count(&status, MPI_SHORT, &count);
  MPI_Get_elements(&status, MPI_SHORT, &basics);
  CHECK(count == MPI_UNDEFINED && basics == MPI_UNDEFINED, "2^33 elements as ints: %d, %d", count, basics);
  MPI_Get_count_c(&status, MPI_SHORT, &size);
  CHECK(size == far, "2^33 elements: %lld", (long long)size);
  MPI_Get_elements_c(&status, MPI_SHORT, &size);
  CHECK(size == far, "2^33 basic elements: %lld", (long long)size);
  MPI_Type_contiguous_c(far, MPI_SHORT, &type);
  MPI_Get_count(&status, type, &count);
  CHECK(count == 1, "one huge element: %d", count);
  MPI_Get_elements(&status, type, &basics);
  CHECK(basics == MPI_UNDEFINED, "its basic elements as an int: %d", basics);

  MPI_Type_commit(&type);
  MPI_Pack_size_c(4, type, MPI_COMM_SELF, &size);
  CHECK(size >= 8 * far, "room to pack four of them: %lld", (long long)size);
  MPI_Pack_external_size_c("external32", 4, type, &size);
  CHECK(size == 8 * far, "room for four of them in external32: %lld", (long long)size);
  if (promised()) {
    const MPI_Count most = INT64_MAX / 4;
    expect_error(MPI_Type_contiguous_c(most, type, &again), MPI_ERR_VALUE_TOO_LARGE, "64 bits");
    expect_error(MPI_Type_vector_c(2, 1, most, type, &again), MPI_ERR_VALUE_TOO_LARGE, "64 bits");
    expect_error(MPI_Type_create_resized_c(MPI_INT, INT64_MAX, 2, &again), MPI_ERR_VALUE_TOO_LARGE,
                 "64 bits");
    expect_error(MPI_Status_set_elements_c(&status, MPI_DOUBLE, most), MPI_ERR_COUNT, "64 bits");
    expect_error(MPI_Status_set_elements_c(&status, MPI_LONG_INT, most), MPI_ERR_COUNT, "64 bits");
  }
  MPI_Type_free(&type);
}
#endif

/* Every predefined type: its external32 form has the size of section 14.5.2, and is converted back. */
static void test_external(void) {
  const struct {
    MPI_Datatype type;
    int bytes;
  } rows[] = {
      {MPI_PACKED, 1},
      {MPI_BYTE, 1},
      {MPI_CHAR, 1},
      {MPI_UNSIGNED_CHAR, 1},
      {MPI_SIGNED_CHAR, 1},
      {MPI_WCHAR, 2},
      {MPI_SHORT, 2},
      {MPI_UNSIGNED_SHORT, 2},
      {MPI_INT, 4},
      {MPI_UNSIGNED, 4},
      {MPI_LONG, 4},
      {MPI_UNSIGNED_LONG, 4},
      {MPI_LONG_LONG_INT, 8},
      {MPI_LONG_LONG, 8},
      {MPI_UNSIGNED_LONG_LONG, 8},
      {MPI_FLOAT, 4},
      {MPI_DOUBLE, 8},
      {MPI_LONG_DOUBLE, 16},
      {MPI_C_BOOL, 1},
      {MPI_INT8_T, 1},
      {MPI_INT16_T, 2},
      {MPI_INT32_T, 4},
      {MPI_INT64_T, 8},
      {MPI_UINT8_T, 1},
      {MPI_UINT16_T, 2},
      {MPI_UINT32_T, 4},
      {MPI_UINT64_T, 8},
      {MPI_AINT, 8},
      {MPI_COUNT, 8},
      {MPI_OFFSET, 8},
      {MPI_C_COMPLEX, 8},
      {MPI_C_FLOAT_COMPLEX, 8},
      {MPI_C_DOUBLE_COMPLEX, 16},
      {MPI_C_LONG_DOUBLE_COMPLEX, 32},
      {MPI_CHARACTER, 1},
      {MPI_LOGICAL, 4},
      {MPI_INTEGER, 4},
      {MPI_REAL, 4},
      {MPI_DOUBLE_PRECISION, 8},
      {MPI_COMPLEX, 8},
      {MPI_DOUBLE_COMPLEX, 16},
      {MPI_CXX_BOOL, 1},
      {MPI_CXX_FLOAT_COMPLEX, 8},
      {MPI_CXX_DOUBLE_COMPLEX, 16},
      {MPI_CXX_LONG_DOUBLE_COMPLEX, 32},
      {MPI_INTEGER1, 1},
      {MPI_INTEGER2, 2},
      {MPI_INTEGER4, 4},
      {MPI_INTEGER8, 8},
      {MPI_REAL4, 4},
      {MPI_REAL8, 8},
      {MPI_COMPLEX8, 8},
      {MPI_COMPLEX16, 16},
      {MPI_FLOAT_INT, 8},
      {MPI_DOUBLE_INT, 12},
      {MPI_LONG_INT, 8},
      {MPI_2INT, 8},
      {MPI_SHORT_INT, 6},
      {MPI_LONG_DOUBLE_INT, 20},
      {MPI_2REAL, 8},
      {MPI_2DOUBLE_PRECISION, 16},
      {MPI_2INTEGER, 8},
  };
  enum { kCount = 3 };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    const MPI_Datatype type = rows[i].type;
    char name[MPI_MAX_OBJECT_NAME];
    int length, size;
    MPI_Aint lower, extent, room;
    if (type == MPI_DATATYPE_NULL) continue; /* a library without Fortran */
    MPI_Type_get_name(type, name, &length);
    MPI_Type_size(type, &size);
    if (size == MPI_UNDEFINED || size == 0) continue;
    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Pack_external_size("external32", kCount, type, &room);
    CHECK(room == kCount * rows[i].bytes, "%d of %s take %ld bytes in external32, not %d", kCount, name,
          (long)room, kCount * rows[i].bytes);
    /* Small numbers with zero bytes elsewhere: valid for every type and exact in external32. For a long
     * double the value is compared, not its padding. */
    const int wide = type == MPI_LONG_DOUBLE || type == MPI_LONG_DOUBLE_INT ||
                     type == MPI_C_LONG_DOUBLE_COMPLEX || type == MPI_CXX_LONG_DOUBLE_COMPLEX;
    const long double number = -1.25L;
    static _Alignas(16) unsigned char from[kCount * 64], to[kCount * 64], external[kCount * 64];
    memset(from, 0, sizeof from);
    memset(to, 0, sizeof to);
    for (int k = 0; k < kCount; ++k) {
      if (wide)
        memcpy(&from[k * extent], &number, sizeof number);
      else
        from[k * extent] = (unsigned char)(k == 1);
    }
    MPI_Aint position = 0;
    MPI_Pack_external("external32", from, kCount, type, external, room, &position);
    CHECK(position == room, "%s: packed to %ld", name, (long)position);
    position = 0;
    MPI_Unpack_external("external32", external, room, &position, to, kCount, type);
    int same = position == room;
    for (int k = 0; wide && k < kCount; ++k) {
      long double got;
      memcpy(&got, &to[k * extent], sizeof got);
      same = same && got == number;
    }
    CHECK(same && (wide || memcmp(from, to, sizeof from) == 0), "%s does not come back from external32",
          name);
  }
}

static void expect_parametric(MPI_Datatype type, int bytes, int combiner, int integers, int external,
                              const char* what) {
  int size, numbers, addresses, types, got;
  MPI_Aint room;
  MPI_Type_size(type, &size);
  CHECK(size == bytes, "%s has %d bytes", what, size);
  MPI_Type_get_envelope(type, &numbers, &addresses, &types, &got);
  CHECK(got == combiner && numbers == integers && addresses == 0 && types == 0, "the envelope of %s", what);
  MPI_Pack_external_size("external32", 1, type, &room);
  CHECK(room == external, "%s has %ld bytes in external32", what, (long)room);
}

/* Section 19.1.5. */
static void test_parametric(void) {
  const struct {
    int range, bytes;
  } integers[] = {{1, 1}, {2, 1}, {3, 2}, {4, 2}, {5, 4}, {9, 4}, {10, 8}, {18, 8}};
  MPI_Datatype type;
  for (size_t i = 0; i < sizeof integers / sizeof integers[0]; ++i) {
    MPI_Type_create_f90_integer(integers[i].range, &type);
    expect_parametric(type, integers[i].bytes, MPI_COMBINER_F90_INTEGER, 1, integers[i].bytes, "an integer");
  }
  const struct {
    int precision, range, bytes;
  } reals[] = {{6, MPI_UNDEFINED, 4},  {MPI_UNDEFINED, 37, 4}, {6, 37, 4}, {7, MPI_UNDEFINED, 8},
               {MPI_UNDEFINED, 38, 8}, {15, 307, 8},           {3, 100, 8}};
  for (size_t i = 0; i < sizeof reals / sizeof reals[0]; ++i) {
    MPI_Type_create_f90_real(reals[i].precision, reals[i].range, &type);
    expect_parametric(type, reals[i].bytes, MPI_COMBINER_F90_REAL, 2, reals[i].bytes, "a real");
    MPI_Type_create_f90_complex(reals[i].precision, reals[i].range, &type);
    expect_parametric(type, 2 * reals[i].bytes, MPI_COMBINER_F90_COMPLEX, 2, 2 * reals[i].bytes,
                      "a complex number");
  }
  MPI_Type_create_f90_real(15, 307, &type);
  double numbers[] = {1.5, -2}, sums[] = {0, 0};
  MPI_Allreduce(numbers, sums, 2, type, MPI_SUM, MPI_COMM_SELF);
  CHECK(sums[0] == 1.5 && sums[1] == -2, "a sum of parametric reals");
  if (promised()) {
    expect_error(MPI_Type_create_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, &type), MPI_ERR_ARG, "MPI_UNDEFINED");
    expect_error(MPI_Type_create_f90_real(100, MPI_UNDEFINED, &type), MPI_ERR_ARG, "100");
    expect_error(MPI_Type_create_f90_integer(50, &type), MPI_ERR_ARG, "50");
  }
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
/* Section 6.9.4: pairs with a name are that predefined type; the others work in the same way. */
static void test_value_index(void) {
  MPI_Datatype pair, copy;
  MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair);
  CHECK(pair == MPI_DOUBLE_INT, "the pair of double and int");
  MPI_Type_get_value_index(MPI_SHORT, MPI_INT, &pair);
  CHECK(pair == MPI_SHORT_INT, "the pair of short and int");
  MPI_Type_get_value_index(MPI_C_DOUBLE_COMPLEX, MPI_INT, &pair);
  CHECK(pair == MPI_DATATYPE_NULL, "a pair of complex numbers");
  MPI_Type_get_value_index(MPI_FLOAT, MPI_INT64_T, &pair);
  if (pair == MPI_DATATYPE_NULL) return;
  struct {
    float value;
    int64_t index;
  } in[] = {{2, (int64_t)5 << 40}, {3, 1}}, inout[] = {{2, (int64_t)4 << 40}, {2, 2}};
  int basics, size;
  MPI_Aint lower, extent;
  MPI_Type_size(pair, &size);
  MPI_Type_get_extent(pair, &lower, &extent);
  CHECK(size == 12 && lower == 0 && extent == (MPI_Aint)sizeof in[0], "size %d, extent %ld", size,
        (long)extent);
  MPI_Reduce_local(in, inout, 2, pair, MPI_MAXLOC);
  CHECK(inout[0].index == (int64_t)4 << 40 && inout[1].value == 3 && inout[1].index == 1,
        "MPI_MAXLOC of a pair: among equals the smaller index");
  MPI_Status status;
  memset(&status, 0, sizeof status);
  MPI_Status_set_elements(&status, pair, 3);
  MPI_Get_elements(&status, pair, &basics);
  CHECK(basics == 3, "one and a half pairs have %d basic elements", basics);
  MPI_Get_count(&status, MPI_BYTE, &size);
  CHECK(size == 16, "one and a half pairs have %d bytes", size);
  MPI_Type_dup(pair, &copy);
  MPI_Get_elements(&status, copy, &basics);
  CHECK(basics == 3, "of a duplicate: %d basic elements", basics);
  MPI_Type_free(&copy);
}
#endif

static int deletes_allowed, deletes;

static int reluctant(MPI_Datatype type, int keyval, void* value, void* extra) {
  (void)type;
  (void)keyval;
  (void)value;
  (void)extra;
  ++deletes;
  return deletes_allowed ? MPI_SUCCESS : MPI_ERR_OTHER;
}

static int never_copied(MPI_Datatype type, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)type;
  (void)keyval;
  (void)extra;
  (void)in;
  (void)out;
  *flag = 0;
  return MPI_ERR_OTHER;
}

/* Section 7.7.3: if a callback fails, the call fails, and the attribute stays. */
static void test_attributes(void) {
  int key, flag;
  void* value = NULL;
  MPI_Datatype type, copy = MPI_DATATYPE_NULL;
  MPI_Type_create_keyval(never_copied, reluctant, &key, NULL);
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_set_attr(type, key, (void*)7);
  const MPI_Datatype before = type;
  CHECK(MPI_Type_free(&type) != MPI_SUCCESS && type == before && deletes == 1, "freed against its attribute");
  CHECK(MPI_Type_delete_attr(type, key) != MPI_SUCCESS && deletes == 2, "deleted against its function");
  CHECK(MPI_Type_set_attr(type, key, (void*)8) != MPI_SUCCESS && deletes == 3,
        "replaced against its function");
  MPI_Type_get_attr(type, key, &value, &flag);
  CHECK(flag && value == (void*)7, "the attribute has gone");
  CHECK(MPI_Type_dup(type, &copy) != MPI_SUCCESS, "duplicated against the copy function");
  deletes_allowed = 1;
  MPI_Type_free(&type);
  CHECK(type == MPI_DATATYPE_NULL && deletes == 4, "not freed: %d deletes", deletes);
  /* Predefined types have attributes too. */
  MPI_Type_set_attr(MPI_INT, key, (void*)9);
  MPI_Type_get_attr(MPI_INT, key, &value, &flag);
  CHECK(flag && value == (void*)9, "an attribute of MPI_INT");
  /* A key in use is finally freed with its last attribute (section 7.7.2). */
  const int number = key;
  MPI_Type_free_keyval(&key);
  CHECK(key == MPI_KEYVAL_INVALID, "a freed key");
  flag = 0;
  value = NULL;
  MPI_Type_get_attr(MPI_INT, number, &value, &flag);
  CHECK(flag && value == (void*)9, "an attribute whose key was freed");
  CHECK(MPI_Type_delete_attr(MPI_INT, number) == MPI_SUCCESS && deletes == 5,
        "an attribute whose key was freed cannot be deleted");
}

/* For two names of one type, the standard calls the second one the synonym (MPI 5.0 table 3.2). */
static void check_names_of_synonyms(void) {
  char name[MPI_MAX_OBJECT_NAME];
  int length;
  MPI_Type_get_name(MPI_LONG_LONG, name, &length);
  CHECK(strcmp(name, "MPI_LONG_LONG_INT") == 0, "MPI_LONG_LONG is %s", name);
  MPI_Type_get_name(MPI_C_FLOAT_COMPLEX, name, &length);
  CHECK(strcmp(name, "MPI_C_COMPLEX") == 0, "MPI_C_FLOAT_COMPLEX is %s", name);
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  test_without_data();
  test_backwards();
  test_padding();
  test_partial();
#if MPI_VERSION >= 4
  test_huge();
#endif
  test_external();
  test_parametric();
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
  test_value_index();
#endif
  test_attributes();
  check_names_of_synonyms();
  MPI_Finalize();
  return 0;
}
