/* Collective calls on a rank whose allocations fail, each in turn: the rank reports MPI_ERR_NO_MEM, the other
 * ranks the same or MPIX_ERR_REVOKED, and no rank blocks. Each call is the first one on its
 * communicator. Packets of other ranks may arrive in the same call, and without memory for one of them the
 * job would end, so all ranks exchange messages of each protocol before. */
#include <errno.h>

#include "fault.h"

extern void* __libc_malloc(size_t bytes);
extern void* __libc_calloc(size_t count, size_t bytes);
extern void* __libc_realloc(void* memory, size_t bytes);

static long fail_at, allocations; /* the number of the allocation that fails; 0: none */

static int fails(void) {
  if (fail_at == 0 || ++allocations != fail_at) return 0;
  errno = ENOMEM;
  return 1;
}

__attribute__((visibility("default"))) void* malloc(size_t bytes) {
  return fails() ? NULL : __libc_malloc(bytes);
}
__attribute__((visibility("default"))) void* calloc(size_t count, size_t bytes) {
  return fails() ? NULL : __libc_calloc(count, bytes);
}
__attribute__((visibility("default"))) void* realloc(void* memory, size_t bytes) {
  return fails() ? NULL : __libc_realloc(memory, bytes);
}

enum call {
  split,
  duplicate,
  idup,
  create,
  create_group,
  barrier,
  ibarrier,
  allgatherv,
  reduce,
  scan_long,
  last_call
};
static const char* const names[] = {"split",   "dup",      "idup",       "create", "create_group",
                                    "barrier", "ibarrier", "allgatherv", "reduce", "long scan"};

static int size;
static double in[20000], out[20000 * 4];

static int run(enum call which, MPI_Comm comm, MPI_Comm* made) {
  const long number = fail_at;
  MPI_Request request;
  MPI_Group group;
  int code, counts[16], places[16], i;
  switch (which) {
    case split:
      return MPI_Comm_split(comm, own_rank_ % 2, 0, made);
    case duplicate:
      return MPI_Comm_dup(comm, made);
    case idup:
      code = MPI_Comm_idup(comm, made, &request);
      return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
    case create:
    case create_group:
      fail_at = 0; /* a local call */
      MPI_Comm_group(comm, &group);
      fail_at = number;
      code =
          which == create ? MPI_Comm_create(comm, group, made) : MPI_Comm_create_group(comm, group, 5, made);
      MPI_Group_free(&group);
      return code;
    case barrier:
      return MPI_Barrier(comm);
    case ibarrier:
      code = MPI_Ibarrier(comm, &request);
      return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
    case allgatherv:
      for (i = 0; i < size; ++i) counts[i] = 3 + i, places[i] = 32 * i;
      return MPI_Allgatherv(in, 3 + own_rank_, MPI_DOUBLE, out, counts, places, MPI_DOUBLE, comm);
    case reduce:
      return MPI_Allreduce(in, out, 900, MPI_DOUBLE, MPI_SUM, comm);
    default:
      return MPI_Scan(in, out, 20000, MPI_DOUBLE, MPI_SUM, comm);
  }
}

/* Whether the rank made as many allocations as had to be made for one to fail. */
static int fail_one(enum call which, long number, int failing) {
  MPI_Comm comm, made = MPI_COMM_NULL;
  int code, reached;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  allocations = 0;
  fail_at = own_rank_ == failing ? number : 0;
  code = run(which, comm, &made);
  reached = fail_at != 0 && allocations >= fail_at;
  fail_at = 0;
  CHECK(code == MPI_SUCCESS || class_of(code) == MPI_ERR_NO_MEM ||
            (class_of(code) == MPIX_ERR_REVOKED && own_rank_ != failing),
        "%s, allocation %ld of rank %d: %s", names[which], number, failing, words_of(code));
  CHECK(own_rank_ != failing || reached || code == MPI_SUCCESS, "%s: %s", names[which], words_of(code));
  if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
  MPI_Comm_free(&comm);
  MPI_Bcast(&reached, 1, MPI_INT, failing, MPI_COMM_WORLD);
  return reached;
}

/* Messages of all ranks to all others, which arrive before their receives or after them. */
static void exchange(int count, int early) {
  enum { each = 4 };
  static double got[16][each][20000];
  MPI_Request requests[2 * 16 * each];
  int other, i, used = 0;
  for (i = 0; early && i < size * each; ++i)
    MPI_Irecv(got[i / each][i % each], 20000, MPI_DOUBLE, i / each, i, MPI_COMM_WORLD, &requests[used++]);
  MPI_Barrier(MPI_COMM_WORLD);
  for (other = 0; other < size; ++other)
    for (i = 0; i < each; ++i)
      MPI_Isend(in, count, MPI_DOUBLE, other, own_rank_ * each + i, MPI_COMM_WORLD, &requests[used++]);
  MPI_Barrier(MPI_COMM_WORLD);
  for (i = 0; !early && i < size * each; ++i)
    MPI_Irecv(got[i / each][i % each], 20000, MPI_DOUBLE, i / each, i, MPI_COMM_WORLD, &requests[used++]);
  MPI_Waitall(used, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char** argv) {
  static const int counts[] = {1, 100, 400, 900, 2500, 8000, 20000};
  size_t i;
  long failed = 0;
  int which, rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &own_rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (i = 0; i < 2 * sizeof counts / sizeof *counts; ++i) exchange(counts[i / 2], i % 2 == 0);
  for (which = 0; which < last_call; ++which) {
    for (rank = 0; rank < size; ++rank) {
      long number = 1;
      while (fail_one((enum call)which, number, rank)) ++number, ++failed;
    }
  }
  CHECK(failed > 8, "only %ld allocations failed", failed);
  MPI_Finalize();
  return 0;
}
