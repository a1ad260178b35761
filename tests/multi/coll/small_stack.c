/* MPI on a stack of 16 KiB, as in programs that switch between user-level contexts: messages of each protocol
 * and blocking collectives of all kinds of lengths. A guard page follows the stack. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { stack_bytes = 16 * 1024, bytes_max = 4 << 20 };

static ucontext_t outside, inside;
static int rank, size;
static long *from, *to;

static void check(int good, const char* what, int count) {
  if (good) return;
  fprintf(stderr, "rank %d: %s of %d is wrong\n", rank, what, count);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  int i;
  (void)type;
  for (i = 0; i < *count; ++i) ((long*)inout)[i] += ((long*)in)[i];
}

static void check_sum(int count, int ranks, const char* what) {
  int i;
  for (i = 0; i < count; ++i) check(to[i] == (long)ranks * i + (long)ranks * (ranks - 1) / 2, what, count);
}

static void collectives(int count, MPI_Op op) {
  int i;
  for (i = 0; i < count; ++i) from[i] = i + rank;
  MPI_Allreduce(from, to, count, MPI_LONG, op, MPI_COMM_WORLD);
  check_sum(count, size, "allreduce");
  memset(to, 0, (size_t)count * sizeof *to);
  MPI_Reduce(from, to, count, MPI_LONG, op, 0, MPI_COMM_WORLD);
  if (rank == 0) check_sum(count, size, "reduce");
  MPI_Scan(from, to, count, MPI_LONG, op, MPI_COMM_WORLD);
  check_sum(count, rank + 1, "scan");
  MPI_Bcast(from, count, MPI_LONG, size - 1, MPI_COMM_WORLD);
  for (i = 0; i < count; ++i) check(from[i] == i + size - 1, "bcast", count);
}

static void work(void) {
  int count;
  MPI_Op op;
  MPI_Op_create(add, 1, &op);
  for (count = 1; count <= bytes_max / (int)sizeof *to; count *= 2) {
    collectives(count, MPI_SUM);
    collectives(count, op);
    from[0] = rank;
    MPI_Sendrecv(from, count, MPI_LONG, (rank + 1) % size, 0, to, count, MPI_LONG, (rank + size - 1) % size,
                 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(to[0] == (rank + size - 1) % size, "message", count);
  }
  MPI_Op_free(&op);
}

int main(int argc, char** argv) {
  const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
  char* memory;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  from = malloc(bytes_max);
  to = malloc(bytes_max);
  memory = mmap(NULL, stack_bytes + page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check(memory != MAP_FAILED && mprotect(memory, page_bytes, PROT_NONE) == 0, "stack", stack_bytes);
  getcontext(&inside);
  inside.uc_stack.ss_sp = memory + page_bytes;
  inside.uc_stack.ss_size = stack_bytes;
  inside.uc_link = &outside;
  makecontext(&inside, work, 0);
  check(swapcontext(&outside, &inside) == 0, "context", 1);
  munmap(memory, stack_bytes + page_bytes);
  free(from);
  free(to);
  MPI_Finalize();
  return 0;
}
