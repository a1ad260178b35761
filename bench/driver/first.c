/* The first calls of a process: the time of the first call, and of the first ten on average, of the slowest
 * rank. Nothing is communicated before, so each case needs a job of its own. The ranks begin at a common time
 * of the clock, and rewrite their data between the calls. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

enum { calls = 10, calls_before = 50 };
static const double grid_ns = 20e6;

static struct {
  unsigned char *send, *receive;
  size_t bytes;
  int partner;
  MPI_Comm comm;
} call;

static void sendrecv(void) {
  MPI_Sendrecv(call.send, (int)call.bytes, MPI_BYTE, call.partner, tag_data, call.receive, (int)call.bytes,
               MPI_BYTE, call.partner, tag_data, call.comm, MPI_STATUS_IGNORE);
}
static void allreduce(void) {
  MPI_Allreduce(call.send, call.receive, (int)(call.bytes / sizeof(double)), MPI_DOUBLE, MPI_SUM, call.comm);
}
static void bcast(void) {
  MPI_Bcast(call.send, (int)call.bytes, MPI_BYTE, 0, call.comm);
}
static void alltoall(void) {
  MPI_Alltoall(call.send, (int)call.bytes, MPI_BYTE, call.receive, (int)call.bytes, MPI_BYTE, call.comm);
}
static void window(void) {
  void* base;
  MPI_Win win;
  MPI_Win_allocate((MPI_Aint)call.bytes, 1, MPI_INFO_NULL, call.comm, &base, &win);
  MPI_Win_fence(0, win);
  MPI_Put(call.send, (int)call.bytes, MPI_BYTE, call.partner, 0, (int)call.bytes, MPI_BYTE, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}
static void dup(void) {
  MPI_Comm other;
  MPI_Comm_dup(call.comm, &other);
  MPI_Comm_free(&other);
}

static const struct {
  const char *name, *first, *ten;
  void (*run)(void);
  int on_new_comm; /* after calls on MPI_COMM_WORLD */
} operations[] = {
    {"sendrecv", "first_sendrecv", "ten_sendrecv", sendrecv, 0},
    {"allreduce", "first_allreduce", "ten_allreduce", allreduce, 0},
    {"allreduce_new", "first_allreduce_new", "ten_allreduce_new", allreduce, 1},
    {"bcast", "first_bcast", "ten_bcast", bcast, 0},
    {"alltoall", "first_alltoall", "ten_alltoall", alltoall, 0},
    {"window", "first_window", "ten_window", window, 0},
    {"dup", "first_dup", "ten_dup", dup, 0},
};

int first_calls(const char* what, size_t bytes, int rank, int size, struct first_result* result) {
  const size_t area = bytes * (size_t)size + 1;
  double own[2] = {0, 0}, slowest[2], start;
  size_t which;
  int i;
  for (which = 0; which < sizeof operations / sizeof operations[0]; ++which) {
    if (strcmp(operations[which].name, what) == 0) break;
  }
  if (which == sizeof operations / sizeof operations[0]) return 0;
  call.send = malloc(area);
  call.receive = malloc(area);
  if (call.send == NULL || call.receive == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  memset(call.send, 1, area);
  memset(call.receive, 1, area);
  call.bytes = bytes;
  call.partner = rank % 2 == 0 ? (rank + 1 < size ? rank + 1 : MPI_PROC_NULL) : rank - 1;
  call.comm = MPI_COMM_WORLD;
  if (operations[which].on_new_comm) {
    for (i = 0; i < calls_before; ++i) operations[which].run();
    MPI_Comm_dup(MPI_COMM_WORLD, &call.comm);
  }
  for (start = ((double)(long)(now_ns() / grid_ns) + 2) * grid_ns; now_ns() < start;) continue;
  for (i = 0; i < calls; ++i) {
    const double begin = now_ns();
    double elapsed;
    operations[which].run();
    elapsed = now_ns() - begin - clock_cost_ns();
    if (i == 0) own[0] = elapsed;
    own[1] += elapsed / calls;
    memset(call.send, i, bytes);
  }
  MPI_Reduce(own, slowest, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (operations[which].on_new_comm) MPI_Comm_free(&call.comm);
  free(call.send);
  free(call.receive);
  result->names[0] = operations[which].first;
  result->names[1] = operations[which].ten;
  result->ns[0] = slowest[0];
  result->ns[1] = slowest[1];
  return 1;
}
