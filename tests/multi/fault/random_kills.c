/* Random traffic in which ranks are killed at random moments, by a timer of the system: in the middle of a
 * packet, a copy, a collective, or between two calls. Whatever call succeeds has brought the right data;
 * after each step the ranks agree whether it went well, and shrink if it did not. All but two die.
 *
 * argv: seed, steps, and the milliseconds within which the ranks die.
 */
#include <sys/time.h>

#include "fault.h"

enum { bytes_max = 1 << 20 };

static unsigned long seed;
static MPI_Comm comm;
static int rank, size;
static unsigned char* out;
static unsigned char* in;

/* The same on all ranks for the same step. */
static unsigned long chance(unsigned long of) {
  unsigned long word = seed * 0x9e3779b97f4a7c15UL + of * 0xd1b54a32d192ed03UL;
  word ^= word >> 29;
  word *= 0xbf58476d1ce4e5b9UL;
  return word ^ word >> 32;
}

static unsigned char byte_of(unsigned long step, int from, int at) {
  return (unsigned char)(step * 7 + (unsigned long)from * 31 + (unsigned long)at);
}

static void fill(unsigned long step, int bytes) {
  for (int at = 0; at < bytes; ++at) out[at] = byte_of(step, rank, at);
}

static void check_bytes(const unsigned char* data, unsigned long step, int from, int bytes,
                        const char* what) {
  for (int at = 0; at < bytes; ++at) {
    CHECK(data[at] == byte_of(step, from, at), "step %lu: byte %d of %d from rank %d is wrong after %s", step,
          at, bytes, from, what);
  }
}

static int send_around(unsigned long step, int bytes) {
  const int from = (rank + size - 1) % size;
  fill(step, bytes);
  const int code = MPI_Sendrecv(out, bytes, MPI_BYTE, (rank + 1) % size, 5, in, bytes, MPI_BYTE, from, 5,
                                comm, MPI_STATUS_IGNORE);
  if (code == MPI_SUCCESS) check_bytes(in, step, from, bytes, "a message");
  return code;
}

static int send_many(unsigned long step, int bytes) {
  MPI_Request requests[8];
  const int from = (rank + 1) % size;
  const int each = bytes / 4;
  int code = MPI_SUCCESS, started = 0;
  fill(step, each);
  for (int i = 0; i < 4 && code == MPI_SUCCESS; ++i) {
    code = MPI_Irecv(in + i * each, each, MPI_BYTE, from, i, comm, &requests[started]);
    started += code == MPI_SUCCESS;
  }
  for (int i = 0; i < 4 && code == MPI_SUCCESS; ++i) {
    code = MPI_Isend(out, each, MPI_BYTE, (rank + size - 1) % size, i, comm, &requests[started]);
    started += code == MPI_SUCCESS;
  }
  const int waited = MPI_Waitall(started, requests, MPI_STATUSES_IGNORE);
  if (code != MPI_SUCCESS || waited != MPI_SUCCESS) return code != MPI_SUCCESS ? code : waited;
  for (int i = 0; i < 4; ++i) check_bytes(in + i * each, step, from, each, "several messages");
  return MPI_SUCCESS;
}

static int tell_all(unsigned long step, int bytes) {
  const int root = (int)(chance(step + 1) % (unsigned long)size);
  if (rank == root) fill(step, bytes);
  const int code = MPI_Bcast(out, bytes, MPI_BYTE, root, comm);
  if (code == MPI_SUCCESS) check_bytes(out, step, root, bytes, "a broadcast");
  return code;
}

static int sum_up(unsigned long step, int bytes) {
  const int count = bytes / 8 > 0 ? bytes / 8 : 1;
  long* mine = (long*)out;
  long* sums = (long*)in;
  for (int i = 0; i < count; ++i) mine[i] = rank + i + (long)step;
  const int code = MPI_Allreduce(mine, sums, count, MPI_LONG, MPI_SUM, comm);
  for (int i = 0; i < count && code == MPI_SUCCESS; ++i) {
    const long expected = (long)size * (size - 1) / 2 + size * (i + (long)step);
    CHECK(sums[i] == expected, "step %lu: sum %d is %ld, not %ld", step, i, sums[i], expected);
  }
  return code;
}

static int exchange_all(unsigned long step, int bytes) {
  const int each = bytes / size > 0 ? bytes / size : 1;
  for (int to = 0; to < size; ++to) {
    for (int at = 0; at < each; ++at) out[to * each + at] = byte_of(step, rank, at);
  }
  const int code = MPI_Alltoall(out, each, MPI_BYTE, in, each, MPI_BYTE, comm);
  for (int from = 0; from < size && code == MPI_SUCCESS; ++from) {
    check_bytes(in + from * each, step, from, each, "an exchange");
  }
  return code;
}

static int (*const calls[])(unsigned long, int) = {send_around, send_many, tell_all, sum_up, exchange_all};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &own_rank_);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  seed = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
  const unsigned long steps = argc > 2 ? strtoul(argv[2], NULL, 10) : 400;
  const unsigned long within_ms = argc > 3 ? strtoul(argv[3], NULL, 10) : 300;
  out = malloc(bytes_max + 64);
  in = malloc(bytes_max + 64);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Barrier(comm);
  if (own_rank_ > 1) {
    const unsigned long us = 1000 + chance((unsigned long)own_rank_) % (1000 * within_ms);
    const struct itimerval timer = {{0, 0}, {(long)(us / 1000000), (long)(us % 1000000)}};
    setitimer(ITIMER_REAL, &timer, NULL);
  }
  for (unsigned long step = 0;; ++step) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (step >= steps && size <= 2) break;
    const unsigned long word = chance(1000 + step);
    const int bytes = 8 + (int)((word >> 8) % (1UL << (4 + (word >> 40) % 17))) % (bytes_max - 8);
    const int code = calls[word % 5](step, bytes);
    int all_well = code == MPI_SUCCESS;
    if (!all_well) {
      CHECK(class_of(code) == MPIX_ERR_PROC_FAILED || class_of(code) == MPIX_ERR_REVOKED ||
                class_of(code) == MPI_ERR_IN_STATUS,
            "step %lu: %s", step, words_of(code));
      MPIX_Comm_revoke(comm);
    }
    MPIX_Comm_agree(comm, &all_well);
    if (all_well) continue;
    MPI_Comm next;
    CHECK(MPIX_Comm_shrink(comm, &next) == MPI_SUCCESS, "cannot shrink");
    MPI_Comm_free(&comm);
    comm = next;
  }
  MPI_Comm_free(&comm);
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}
