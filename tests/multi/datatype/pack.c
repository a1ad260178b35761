/* Packing into the user's buffer: positions, room, and every byte of external32. */
#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "check.h"

static void test_positions(void) {
  char buffer[64];
  int numbers[4] = {1, 2, 3, 4}, got[4] = {0}, position = 0, size;
  double real = 2.5, got_real = 0;
  MPI_Pack_size(4, MPI_INT, MPI_COMM_WORLD, &size);
  CHECK(size == 16, "MPI_Pack_size says %d", size);
  MPI_Pack(numbers, 4, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
  MPI_Pack(&real, 1, MPI_DOUBLE, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
  MPI_Pack(NULL, 0, MPI_DOUBLE, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
  CHECK(position == 24, "position %d", position);
  position = 0;
  MPI_Unpack(buffer, 24, &position, got, 4, MPI_INT, MPI_COMM_WORLD);
  MPI_Unpack(buffer, 24, &position, &got_real, 1, MPI_DOUBLE, MPI_COMM_WORLD);
  CHECK(position == 24 && memcmp(got, numbers, sizeof got) == 0 && got_real == real, "unpacked");

  position = 60;
  /* No library has to check whether there is room. */
  if (!promised()) return;
  expect_error(MPI_Pack(numbers, 2, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD),
               MPI_ERR_TRUNCATE, "from position 60");
  CHECK(position == 60, "a failed pack moved the position");
  position = 20;
  expect_error(MPI_Unpack(buffer, 24, &position, got, 2, MPI_INT, MPI_COMM_WORLD), MPI_ERR_TRUNCATE,
               "from position 20");
  position = -1;
  expect_error(MPI_Pack(numbers, 1, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD), MPI_ERR_ARG,
               "position is -1");
  MPI_Datatype raw;
  MPI_Type_contiguous(2, MPI_INT, &raw);
  position = 0;
  expect_error(MPI_Pack(numbers, 1, raw, buffer, sizeof buffer, &position, MPI_COMM_WORLD), MPI_ERR_TYPE,
               "not committed");
  MPI_Type_free(&raw);
}

static void expect_external(const char* what, const void* value, void* got, size_t value_bytes,
                            MPI_Datatype type, const unsigned char* want, MPI_Aint bytes) {
  unsigned char packed[64];
  MPI_Aint size = -1, position = 0;
  MPI_Pack_external_size("external32", 1, type, &size);
  CHECK(size == bytes, "%s has %ld bytes in external32", what, (long)size);
  MPI_Pack_external("external32", value, 1, type, packed, sizeof packed, &position);
  CHECK(position == bytes, "%s: position %ld", what, (long)position);
  for (MPI_Aint i = 0; i < bytes; ++i)
    CHECK(packed[i] == want[i], "%s: byte %ld is %02x, not %02x", what, (long)i, packed[i], want[i]);
  memset(got, 0x77, value_bytes);
  position = 0;
  MPI_Unpack_external("external32", packed, bytes, &position, got, 1, type);
  CHECK(position == bytes && memcmp(got, value, value_bytes) == 0, "%s comes back different", what);
}

#define EXPECT_EXTERNAL(c_type, value, mpi_type, ...)                                                  \
  do {                                                                                                 \
    const c_type value_ = value;                                                                       \
    c_type got_;                                                                                       \
    const unsigned char want_[] = {__VA_ARGS__};                                                       \
    expect_external(#mpi_type, &value_, &got_, sizeof got_, mpi_type, want_, (MPI_Aint)sizeof(want_)); \
  } while (0)

static void test_external_numbers(void) {
  EXPECT_EXTERNAL(char, 'a', MPI_CHAR, 0x61);
  EXPECT_EXTERNAL(short, -2, MPI_SHORT, 0xff, 0xfe);
  EXPECT_EXTERNAL(int, 0x01020304, MPI_INT, 1, 2, 3, 4);
  EXPECT_EXTERNAL(long, -3, MPI_LONG, 0xff, 0xff, 0xff, 0xfd);
  EXPECT_EXTERNAL(unsigned long, 0xfffffffeul, MPI_UNSIGNED_LONG, 0xff, 0xff, 0xff, 0xfe);
  EXPECT_EXTERNAL(long long, 0x0102030405060708ll, MPI_LONG_LONG, 1, 2, 3, 4, 5, 6, 7, 8);
  EXPECT_EXTERNAL(MPI_Aint, -1, MPI_AINT, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff);
  EXPECT_EXTERNAL(wchar_t, 0x20ac, MPI_WCHAR, 0x20, 0xac);
  EXPECT_EXTERNAL(float, 1.5f, MPI_FLOAT, 0x3f, 0xc0, 0, 0);
  EXPECT_EXTERNAL(double, -2.0, MPI_DOUBLE, 0xc0, 0, 0, 0, 0, 0, 0, 0);
  EXPECT_EXTERNAL(int, 1, MPI_LOGICAL, 0, 0, 0, 1);
  const float complex_number[2] = {1.0f, -1.0f};
  float got[2];
  const unsigned char complex_bytes[] = {0x3f, 0x80, 0, 0, 0xbf, 0x80, 0, 0};
  expect_external("MPI_C_FLOAT_COMPLEX", complex_number, got, sizeof got, MPI_C_FLOAT_COMPLEX, complex_bytes,
                  8);

  /* 1.25 as binary128: exponent 0x3fff, fraction 01 and zeros. */
  const long double wide = 1.25L;
  unsigned char packed[16];
  MPI_Aint position = 0;
  MPI_Pack_external("external32", &wide, 1, MPI_LONG_DOUBLE, packed, sizeof packed, &position);
  const unsigned char want[16] = {0x3f, 0xff, 0x40};
  CHECK(position == 16 && memcmp(packed, want, 16) == 0, "long double as binary128");
  long double back = 0;
  position = 0;
  MPI_Unpack_external("external32", packed, 16, &position, &back, 1, MPI_LONG_DOUBLE);
  CHECK(back == wide, "long double comes back as %Lg", back);
}

struct Mixed {
  char letter;
  double real;
  long number;
};

static void test_external_structures(void) {
  const struct Mixed values[2] = {{'x', 0.5, 7}, {'y', -1.0, -8}};
  struct Mixed got[2];
  memset(got, 0, sizeof got);
  const int lengths[] = {1, 1, 1};
  const MPI_Aint places[] = {offsetof(struct Mixed, letter), offsetof(struct Mixed, real),
                             offsetof(struct Mixed, number)};
  const MPI_Datatype members[] = {MPI_CHAR, MPI_DOUBLE, MPI_LONG};
  MPI_Datatype type;
  MPI_Type_create_struct(3, lengths, places, members, &type);
  MPI_Type_commit(&type);
  unsigned char packed[26];
  MPI_Aint position = 0, size;
  MPI_Pack_external_size("external32", 2, type, &size);
  CHECK(size == 2 * (1 + 8 + 4), "two structures have %ld bytes", (long)size);
  MPI_Pack_external("external32", values, 2, type, packed, sizeof packed, &position);
  const unsigned char want[26] = {'x', 0x3f, 0xe0, 0, 0, 0, 0, 0, 0, 0,    0,    0,    7,
                                  'y', 0xbf, 0xf0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xf8};
  CHECK(position == 26 && memcmp(packed, want, 26) == 0, "two structures in external32");
  position = 0;
  MPI_Unpack_external("external32", packed, sizeof packed, &position, got, 2, type);
  CHECK(got[1].letter == 'y' && got[1].real == -1.0 && got[1].number == -8 && got[0].number == 7,
        "two structures from external32");

  /* Longer than the pieces that the library converts at a time. */
  enum { kMany = 5000 };
  static double column[2 * kMany], column_got[2 * kMany];
  static unsigned char long_packed[8 * kMany];
  MPI_Datatype vector;
  MPI_Type_vector(kMany, 1, 2, MPI_DOUBLE, &vector);
  MPI_Type_commit(&vector);
  for (int i = 0; i < 2 * kMany; ++i) column[i] = i * 0.75;
  position = 0;
  MPI_Pack_external("external32", column, 1, vector, long_packed, sizeof long_packed, &position);
  CHECK(position == 8 * kMany, "a vector in external32");
  position = 0;
  MPI_Unpack_external("external32", long_packed, sizeof long_packed, &position, column_got, 1, vector);
  for (int i = 0; i < 2 * kMany; ++i)
    CHECK(column_got[i] == (i % 2 == 0 ? column[i] : 0), "element %d of a vector", i);
  MPI_Type_free(&vector);
  MPI_Type_free(&type);
}

static void test_external_errors(void) {
  unsigned char packed[8];
  MPI_Aint position = 0;
  const int value = 1;
  expect_error(MPI_Pack_external("internal", &value, 1, MPI_INT, packed, 8, &position),
               MPI_ERR_UNSUPPORTED_DATAREP, "internal");
  if (!promised()) return;
  position = 6;
  expect_error(MPI_Pack_external("external32", &value, 1, MPI_INT, packed, 8, &position), MPI_ERR_TRUNCATE,
               "from position 6");
  /* MPI 5.0 section 14.5.2 leaves open whether the library detects this. */
  if (sizeof(long) > 4) {
    const long large = LONG_MAX;
    position = 0;
    expect_error(MPI_Pack_external("external32", &large, 1, MPI_LONG, packed, 8, &position),
                 MPI_ERR_CONVERSION, "MPI_LONG");
  }
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  test_positions();
  test_external_numbers();
  test_external_structures();
  test_external_errors();
  MPI_Finalize();
  return 0;
}
