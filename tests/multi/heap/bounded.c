/* The heap as mpiexec shares it by default: only blocks of certain lengths, up to a total size
 * (HEARTH_SHARE_HEAP_BYTES_MAX=8M, HEARTH_SHARE_HEAP_BYTES_TOTAL=32M). All other blocks are private memory,
 * and work. */
#include <stdlib.h>

#include "../coll/check.h"
#include "window.h"

enum { kBlocks = 64 };
static const size_t kMiB = (size_t)1 << 20;

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  char* block = malloc(kMiB);
  memset(block, 7, kMiB);
  CHECK(in_window(block), "a block of 1 MiB is not in the window");
  block = realloc(block, 16 * kMiB);
  CHECK(!in_window(block), "a block of 16 MiB is in the window");
  for (size_t i = 0; i < kMiB; ++i) CHECK(block[i] == 7, "realloc has changed byte %zu", i);
  block = realloc(block, kMiB);
  for (size_t i = 0; i < kMiB; ++i) CHECK(block[i] == 7, "realloc has changed byte %zu", i);
  free(block);
  void* calloced = calloc(3, 16 * kMiB);
  void* aligned = aligned_alloc(4096, 16 * kMiB);
  CHECK(calloced != NULL && !in_window(calloced), "48 MiB of calloc are in the window");
  CHECK(aligned != NULL && !in_window(aligned), "16 MiB of aligned_alloc are in the window");
  free(calloced);
  free(aligned);

  char* blocks[kBlocks];
  size_t shared = 0;
  for (int i = 0; i < kBlocks; ++i) {
    blocks[i] = malloc(kMiB);
    CHECK(blocks[i] != NULL, "no memory");
    memset(blocks[i], i, kMiB);
    shared += in_window(blocks[i]) ? kMiB : 0;
  }
  CHECK(shared >= 16 * kMiB && shared <= 32 * kMiB, "%zu MiB are in the window", shared / kMiB);
  /* Every pair of shared and private memory as source and destination. */
  const int next = (rank_ + 1) % size_, before = (rank_ + size_ - 1) % size_;
  for (int i = 0; i < kBlocks; ++i) {
    MPI_Sendrecv_replace(blocks[i], (int)kMiB, MPI_CHAR, next, i, before, i, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    CHECK(blocks[i][0] == i && blocks[i][kMiB - 1] == i, "block %d is wrong", i);
    MPI_Bcast(blocks[i], (int)kMiB, MPI_CHAR, i % size_, MPI_COMM_WORLD);
  }
  for (int i = 0; i < kBlocks; ++i) free(blocks[i]);
  MPI_Finalize();
  return 0;
}
