/* Long messages between jobs, in both directions: bounce buffers, arena slices and single copy reach
 * processes of other jobs. Lengths around the limits of the protocols; buffers of malloc, of MPI_Alloc_mem
 * and static ones; many messages at a time, more than the bounce buffers hold; bounce buffers that the
 * receiver keeps for recycling when the jobs disconnect. The program spawns itself. */
#include "joint.h"

enum { kBytesMax = 3 << 20, kAtATime = 12, kPartsMax = 5 };

static char static_[kBytesMax];

static char value(int seed, int at) {
  return (char)(seed * 31 + at % 251);
}

static void fill(char* buffer, int bytes, int seed) {
  for (int at = 0; at < bytes; ++at) buffer[at] = value(seed, at);
}

static void check_bytes(const char* buffer, int bytes, int seed, const char* what) {
  for (int at = 0; at < bytes; ++at) {
    if (buffer[at] == value(seed, at)) continue;
    CHECK(0, "%s of %d bytes: byte %d is %d, not %d", what, bytes, at, buffer[at], value(seed, at));
    return;
  }
}

/* A message to the peer and back, from one buffer. */
static void exchange(MPI_Comm inter, int leads, char* buffer, int bytes, const char* what) {
  for (int round = 0; round < 3; ++round) {
    if (leads) fill(buffer, bytes, round);
    if (leads) MPI_Send(buffer, bytes, MPI_CHAR, 0, 1, inter);
    if (leads) memset(buffer, 0, (size_t)bytes);
    MPI_Recv(buffer, bytes, MPI_CHAR, 0, 1, inter, MPI_STATUS_IGNORE);
    check_bytes(buffer, bytes, round, what);
    if (!leads) MPI_Send(buffer, bytes, MPI_CHAR, 0, 1, inter);
  }
}

static void test_lengths(MPI_Comm inter, int leads) {
  static const int lengths[] = {9000, 16 << 10, 40001, 64 << 10, 200000, 1 << 20, kBytesMax};
  char* own = malloc(kBytesMax);
  char* given;
  MPI_Alloc_mem(kBytesMax, MPI_INFO_NULL, &given);
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
    exchange(inter, leads, static_, lengths[i], "static memory");
    exchange(inter, leads, own, lengths[i], "memory of malloc");
    exchange(inter, leads, given, lengths[i], "memory of MPI_Alloc_mem");
  }
  MPI_Free_mem(given);
  free(own);
}

/* Both send more than their bounce buffers hold before either receives. */
static void test_many(MPI_Comm inter, int bytes) {
  char* sent = malloc((size_t)bytes * kAtATime);
  char* received = malloc((size_t)bytes * kAtATime);
  MPI_Request requests[2 * kAtATime];
  for (int i = 0; i < kAtATime; ++i) {
    fill(sent + (size_t)i * bytes, bytes, i);
    MPI_Isend(sent + (size_t)i * bytes, bytes, MPI_CHAR, 0, 2 + i, inter, &requests[i]);
  }
  for (int i = kAtATime - 1; i >= 0; --i) {
    MPI_Irecv(received + (size_t)i * bytes, bytes, MPI_CHAR, 0, 2 + i, inter, &requests[kAtATime + i]);
  }
  MPI_Waitall(2 * kAtATime, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kAtATime; ++i) check_bytes(received + (size_t)i * bytes, bytes, i, "one of many");
  free(received);
  free(sent);
}

/* One direction alone, then the other: the receiver has kept buffers, and the sender needs them back. */
static void test_one_way(MPI_Comm inter, int sends) {
  for (int i = 0; i < 40; ++i) {
    const int bytes = (i % 7 + 1) * 50000;
    if (sends) {
      fill(static_, bytes, i);
      MPI_Send(static_, bytes, MPI_CHAR, 0, 3, inter);
    } else {
      MPI_Recv(static_, bytes, MPI_CHAR, 0, 3, inter, MPI_STATUS_IGNORE);
      check_bytes(static_, bytes, i, "one way");
    }
  }
}

static void test_all(MPI_Comm inter, int leads) {
  test_lengths(inter, leads);
  test_many(inter, 9000);
  test_many(inter, 300000);
  test_one_way(inter, leads);
  test_one_way(inter, !leads);
  exchange(inter, leads, static_, 48 << 10, "the last one");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) {
    test_all(parent, 0);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
  }
  /* One after the other, so that a loss of bounce buffers would add up; then several at a time. */
  MPI_Comm inters[kPartsMax];
  for (int i = 0; i < 4; ++i) {
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inters[0],
                   MPI_ERRCODES_IGNORE);
    test_all(inters[0], 1);
    MPI_Comm_disconnect(&inters[0]);
  }
  for (int i = 0; i < kPartsMax; ++i) {
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inters[i],
                   MPI_ERRCODES_IGNORE);
  }
  for (int i = 0; i < kPartsMax; ++i) test_all(inters[i], 1);
  for (int i = 0; i < kPartsMax; ++i) MPI_Comm_disconnect(&inters[i]);
  MPI_Finalize();
  return 0;
}
