/* Messages of every kind of derived datatype, with lengths for every protocol. The received data are
 * compared with the result of MPI_Pack on the sender's buffer, and bytes outside of the datatype must stay
 * unchanged. */
#include "check.h"

enum { kTypes = 12, kMemory = 1 << 21 };

static const char* const names[kTypes] = {
    "contiguous",     "vector", "hvector backwards", "indexed", "hindexed", "indexed_block",
    "hindexed_block", "struct", "subarray",          "darray",  "resized",  "struct of vectors",
};

static void make_types(MPI_Datatype types[kTypes]) {
  const int lengths[] = {1, 0, 3, 2};
  const int places[] = {5, 100, 0, 12};
  const MPI_Aint far[] = {40, 800, 0, 99};
  const MPI_Datatype members[] = {MPI_DOUBLE, MPI_CHAR, MPI_SHORT, MPI_INT};
  const MPI_Aint offsets[] = {16, 0, 4, 32};
  const int sizes[] = {6, 7, 8}, subsizes[] = {3, 2, 5}, starts[] = {1, 4, 2};
  const int kinds[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
  const int arguments[] = {2, MPI_DISTRIBUTE_DFLT_DARG}, grid[] = {2, 2};
  MPI_Type_contiguous(7, MPI_INT, &types[0]);
  MPI_Type_vector(40, 1, 3, MPI_DOUBLE, &types[1]);
  MPI_Type_create_hvector(9, 2, -13, MPI_SHORT, &types[2]);
  MPI_Type_indexed(4, lengths, places, MPI_INT, &types[3]);
  MPI_Type_create_hindexed(4, lengths, far, MPI_DOUBLE, &types[4]);
  MPI_Type_create_indexed_block(4, 2, places, MPI_DOUBLE, &types[5]);
  MPI_Type_create_hindexed_block(4, 3, far, MPI_CHAR, &types[6]);
  MPI_Type_create_struct(4, lengths, offsets, members, &types[7]);
  MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &types[8]);
  MPI_Type_create_darray(4, 3, 2, sizes, kinds, arguments, grid, MPI_ORDER_FORTRAN, MPI_DOUBLE, &types[9]);
  MPI_Type_create_resized(MPI_DOUBLE_INT, -4, 28, &types[10]);
  const int once[] = {1, 2, 1};
  const MPI_Aint apart[] = {0, 3000, 2000};
  const MPI_Datatype parts[] = {types[1], types[3], MPI_INT};
  MPI_Type_create_struct(3, once, apart, parts, &types[11]);
  for (int i = 0; i < kTypes; ++i) MPI_Type_commit(&types[i]);
}

/* A byte that differs from every other rank's byte at this position. */
static unsigned char byte_of(int rank, int type, long i) {
  return (unsigned char)(i * 31 + i / 251 + rank * 17 + type * 7);
}

static void exchange(int rank, int ranks, int index, MPI_Datatype type, int count) {
  static unsigned char out[kMemory], in[kMemory], want[kMemory], packed[kMemory];
  MPI_Aint lower, extent, data, data_extent;
  int size;
  MPI_Type_get_extent(type, &lower, &extent);
  MPI_Type_get_true_extent(type, &data, &data_extent);
  MPI_Type_size(type, &size);
  while (count > 1 && (count - 1) * labs(extent) + data_extent > kMemory - 8192) count /= 2;
  const MPI_Aint origin = 4096 - (data < 0 ? data : 0);
  const int from = (rank + ranks - 1) % ranks, to = (rank + 1) % ranks;

  for (long i = 0; i < kMemory; ++i) out[i] = byte_of(from, index, i);
  memset(in, 0xa5, kMemory);
  memset(want, 0xa5, kMemory);
  int position = 0, unpacked = 0;
  MPI_Pack(out + origin, count, type, packed, kMemory, &position, MPI_COMM_WORLD);
  CHECK(position == count * size, "packed %s: %d bytes of %d", names[index], position, count * size);
  MPI_Unpack(packed, position, &unpacked, want + origin, count, type, MPI_COMM_WORLD);
  CHECK(unpacked == position, "unpacked %s: %d bytes of %d", names[index], unpacked, position);

  for (long i = 0; i < kMemory; ++i) out[i] = byte_of(rank, index, i);
  MPI_Status status;
  MPI_Sendrecv(out + origin, count, type, to, index, in + origin, count, type, from, index, MPI_COMM_WORLD,
               &status);
  CHECK(memcmp(in, want, kMemory) == 0, "%d elements of %s arrived wrong", count, names[index]);
  int got;
  MPI_Get_count(&status, type, &got);
  CHECK(got == count, "%d elements of %s, not %d", got, names[index], count);

  /* The same bytes as a packed message, one side at a time. */
  int bytes = 0;
  MPI_Pack(out + origin, count, type, want, kMemory, &bytes, MPI_COMM_WORLD);
  MPI_Request request;
  MPI_Irecv(in, bytes, MPI_PACKED, from, 100, MPI_COMM_WORLD, &request);
  MPI_Send(out + origin, count, type, to, 100, MPI_COMM_WORLD);
  MPI_Wait(&request, &status);
  MPI_Get_count(&status, MPI_PACKED, &got);
  CHECK(got == position && memcmp(in, packed, (size_t)position) == 0, "%s received as MPI_PACKED",
        names[index]);
  memset(want, 0xa5, kMemory);
  memset(in, 0xa5, kMemory);
  unpacked = 0;
  MPI_Unpack(packed, position, &unpacked, want + origin, count, type, MPI_COMM_WORLD);
  bytes = 0;
  MPI_Pack(out + origin, count, type, packed, kMemory, &bytes, MPI_COMM_WORLD);
  MPI_Irecv(in + origin, count, type, from, 101, MPI_COMM_WORLD, &request);
  MPI_Send(packed, bytes, MPI_PACKED, to, 101, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(memcmp(in, want, kMemory) == 0, "%s sent as MPI_PACKED", names[index]);
}

/* Absolute addresses: MPI_BOTTOM. */
static void test_bottom(int rank, int ranks) {
  int numbers[2] = {rank, -rank}, got_numbers[2] = {-1, -1};
  double real = rank + 0.5, got_real = -1;
  MPI_Aint out[2], in[2];
  MPI_Get_address(numbers, &out[0]);
  MPI_Get_address(&real, &out[1]);
  MPI_Get_address(got_numbers, &in[0]);
  MPI_Get_address(&got_real, &in[1]);
  const int lengths[] = {2, 1};
  const MPI_Datatype members[] = {MPI_INT, MPI_DOUBLE};
  MPI_Datatype from_here, to_here;
  MPI_Type_create_struct(2, lengths, out, members, &from_here);
  MPI_Type_create_struct(2, lengths, in, members, &to_here);
  MPI_Type_commit(&from_here);
  MPI_Type_commit(&to_here);
  const int left = (rank + ranks - 1) % ranks;
  MPI_Sendrecv(MPI_BOTTOM, 1, from_here, (rank + 1) % ranks, 7, MPI_BOTTOM, 1, to_here, left, 7,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(got_numbers[0] == left && got_numbers[1] == -left && got_real == left + 0.5, "MPI_BOTTOM");
  MPI_Type_free(&from_here);
  MPI_Type_free(&to_here);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Datatype types[kTypes];
  make_types(types);
  const int counts[] = {1, 2, 37, 3000};
  for (int i = 0; i < kTypes; ++i) {
    for (size_t j = 0; j < sizeof counts / sizeof counts[0]; ++j)
      exchange(rank, ranks, i, types[i], counts[j]);
  }
  for (int i = 0; i < kTypes; ++i) MPI_Type_free(&types[i]);
  test_bottom(rank, ranks);
  MPI_Finalize();
  return 0;
}
