/* Memory runs out during one-sided operations: only the call that needs it fails, and the window stays
 * usable. A limit on the address space makes large allocations fail. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "window.h"

enum { kDoubles = 32 << 20, kPutBytes = 1 << 20, kPuts = 16, kHeadroomBytes = 256 << 10 };

static struct rlimit before;
static int private_heap; /* a shared heap may have enough in reserve */

/* From here on the process gets little more memory. */
static void limit_memory(long headroom_bytes) {
  FILE* file = fopen("/proc/self/statm", "r");
  long pages = 0;
  if (file == NULL || fscanf(file, "%ld", &pages) != 1) abort();
  fclose(file);
  getrlimit(RLIMIT_AS, &before);
  struct rlimit limited = before;
  limited.rlim_cur = (rlim_t)(pages * sysconf(_SC_PAGESIZE) + headroom_bytes);
  if (setrlimit(RLIMIT_AS, &limited) != 0) abort();
}

static void restore_memory(void) {
  setrlimit(RLIMIT_AS, &before);
}

/* An accumulate that cannot pack its data must not keep the accumulate lock of the target. */
static void accumulate(void) {
  double* memory;
  MPI_Win win;
  DO(MPI_Win_allocate((MPI_Aint)sizeof(double) * kDoubles, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD,
                      &memory, &win));
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  memset(memory, 0, sizeof(double) * 2);
  MPI_Datatype strided;
  DO(MPI_Type_vector(kDoubles, 1, 2, MPI_DOUBLE, &strided));
  DO(MPI_Type_commit(&strided));
  double* const origin = malloc(sizeof(double) * 2 * kDoubles);
  DO(MPI_Win_fence(0, win));
  DO(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  DO(MPI_Win_lock_all(0, win));
  if (rank_ == 0) {
    limit_memory(16 << 20);
    const int code = MPI_Accumulate(origin, 1, strided, 0, 0, kDoubles, MPI_DOUBLE, MPI_SUM, win);
    restore_memory();
    CHECK(class_of(code) == MPI_ERR_NO_MEM, "the accumulate returned class %d", class_of(code));
  }
  DO(MPI_Barrier(MPI_COMM_WORLD));
  const double one = 1;
  double sum = 0;
  DO(MPI_Accumulate(&one, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_SUM, win));
  DO(MPI_Win_flush_all(win));
  DO(MPI_Barrier(MPI_COMM_WORLD));
  DO(MPI_Fetch_and_op(NULL, &sum, MPI_DOUBLE, 0, 0, MPI_NO_OP, win));
  DO(MPI_Win_unlock_all(win));
  CHECK(sum == size_, "the sum is %g, not %d", sum, size_);
  free(origin);
  DO(MPI_Type_free(&strided));
  DO(MPI_Win_free(&win));
}

/* Rank 0 waits in a receive on another communicator while other ranks put by messages for which it has no
 * buffers. `blocks`: number of blocks of each put. A put of one block needs no buffer and must arrive. */
static void put(int blocks) {
  static char memory[kPutBytes * kPuts];
  MPI_Win win;
  memset(memory, 0, sizeof memory);
  DO(MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Datatype target;
  const int stride = kPutBytes / blocks;
  DO(MPI_Type_vector(blocks, stride - (blocks > 1), stride, MPI_CHAR, &target));
  DO(MPI_Type_commit(&target));
  int bytes;
  DO(MPI_Type_size(target, &bytes));
  DO(MPI_Win_lock_all(0, win));
  char* const origin = malloc(kPutBytes);
  memset(origin, 'x', kPutBytes);
  /* Once without a limit, so that the library already has the resources for that many messages. */
  for (int i = 0; i < kPuts && rank_ == 1; ++i) {
    DO(MPI_Put(origin, kPutBytes, MPI_CHAR, 0, (MPI_Aint)i * kPutBytes, kPutBytes, MPI_CHAR, win));
  }
  DO(MPI_Win_flush_all(win));
  DO(MPI_Barrier(MPI_COMM_WORLD));
  memset(memory, 0, sizeof memory);
  DO(MPI_Barrier(MPI_COMM_WORLD));
  int value = 0;
  if (rank_ == 0) {
    limit_memory(kHeadroomBytes);
    const int code = MPI_Recv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    restore_memory();
    CHECK(code == MPI_SUCCESS, "a receive fails for the sake of a window: %s", words_of(code));
    CHECK(value == 7, "received %d", value);
  } else {
    for (int i = 0; i < kPuts && rank_ == 1; ++i) {
      DO(MPI_Put(origin, bytes, MPI_CHAR, 0, (MPI_Aint)i * kPutBytes, 1, target, win));
    }
    const int code = class_of(MPI_Win_flush(0, win));
    const int refused = blocks > 1 && rank_ == 1 && code == MPI_ERR_NO_MEM;
    CHECK(code == MPI_SUCCESS || refused, "puts of %d blocks: class %d", blocks, code);
    CHECK(refused || blocks == 1 || rank_ != 1 || !private_heap, "the limit leaves memory for the puts");
    value = 7;
    if (rank_ == 1) DO(MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD));
  }
  free(origin);
  DO(MPI_Barrier(MPI_COMM_WORLD));
  /* The window stays usable. */
  char last = 0;
  if (rank_ == 1) {
    DO(MPI_Put("y", 1, MPI_CHAR, 0, kPutBytes - 1, 1, MPI_CHAR, win));
    DO(MPI_Win_flush(0, win));
    DO(MPI_Get(&last, 1, MPI_CHAR, 0, kPutBytes - 1, 1, MPI_CHAR, win));
    DO(MPI_Win_flush(0, win));
    CHECK(last == 'y', "got %d", last);
  }
  DO(MPI_Win_unlock_all(win));
  DO(MPI_Barrier(MPI_COMM_WORLD));
  if (rank_ == 0 && blocks == 1) {
    for (int i = 0; i < kPutBytes * kPuts; ++i) {
      if (i != kPutBytes - 1) CHECK(memory[i] == 'x', "byte %d was not put", i);
    }
  }
  DO(MPI_Type_free(&target));
  DO(MPI_Win_free(&win));
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  private_heap = argc > 1;
  put(1);
  put(64);
  accumulate();
  DO(MPI_Finalize());
  return 0;
}
