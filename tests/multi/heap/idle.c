/* A heap whose blocks no peer reads becomes idle: new blocks are private until a long message is sent. Run
 * with HEARTH_SHARE_HEAP_BYTES_IDLE=16M. */
#include "../coll/check.h"
#include "window.h"

enum { block_bytes = 1 << 20, long_bytes = 8 << 20 };

static int new_block_is_shared(void) {
  char* block = malloc(block_bytes);
  CHECK(block != NULL, "no memory");
  block[0] = block[block_bytes - 1] = 1;
  const int shared = in_window(block);
  free(block);
  return shared;
}

static void exchange(char* out, char* in) {
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  memset(out, rank_ + 1, long_bytes);
  MPI_Sendrecv(out, long_bytes, MPI_CHAR, next, 0, in, long_bytes, MPI_CHAR, previous, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  CHECK(in[0] == previous + 1 && in[long_bytes - 1] == previous + 1, "a message is wrong");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  const int can_share = new_block_is_shared();
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < 20; ++i) new_block_is_shared();
    CHECK(!new_block_is_shared(), "blocks of 20 MiB that no peer has read, and the heap is not idle");
    char *out = malloc(long_bytes), *in = malloc(long_bytes);
    CHECK(out != NULL && in != NULL && !in_window(out), "no private memory");
    exchange(out, in);
    CHECK(new_block_is_shared() == can_share,
          "a long message from private memory, and the heap is still idle");
    free(out);
    free(in);
  }
  MPI_Finalize();
  return 0;
}
