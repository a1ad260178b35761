/* Collectives on more than 2^31 bytes and elements. Needs 9 GB of memory on two ranks; with less it prints a
 * message and stops. */
#include "check.h"

static long available_kib(void) {
  long kib = -1;
  char line[256];
  FILE* file = fopen("/proc/meminfo", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) sscanf(line, "MemAvailable: %ld", &kib);
  if (file != NULL) fclose(file);
  return kib;
}

static unsigned char value_at(int rank, MPI_Count i) {
  return (unsigned char)((unsigned long)i * 2654435761u >> 13) ^ (unsigned char)(rank * 91);
}

/* Each byte out of 509 and all bytes around 2^31 encode their position; the rest are 0. */
static MPI_Count next_marked(MPI_Count i) {
  return i > ((MPI_Count)1 << 31) - 4096 ? i + 1 : i + 509;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  int enough = available_kib() > 9L * 1024 * 1024;
  MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (!enough) {
    if (rank_ == 0) printf("left out: less than 9 GB of memory are available\n");
    MPI_Finalize();
    return 0;
  }
  const MPI_Count count = ((MPI_Count)1 << 31) + 5;
  unsigned char* buffer = malloc((size_t)count);
  CHECK(buffer != NULL, "no memory");

  memset(buffer, 0, (size_t)count);
  if (rank_ == 1)
    for (MPI_Count i = 0; i < count; i = next_marked(i)) buffer[i] = value_at(1, i);
  MPI_Bcast_c(buffer, count, MPI_BYTE, 1, MPI_COMM_WORLD);
  for (MPI_Count i = 0; i < count; i = next_marked(i))
    CHECK(buffer[i] == value_at(1, i), "Bcast: byte %ld", (long)i);

  for (MPI_Count i = 0; i < count; i = next_marked(i)) buffer[i] = value_at(rank_, i);
  MPI_Allreduce_c(MPI_IN_PLACE, buffer, count, MPI_UINT8_T, MPI_BXOR, MPI_COMM_WORLD);
  for (MPI_Count i = 0; i < count; i = next_marked(i)) {
    unsigned char want = 0;
    for (int rank = 0; rank < size_; ++rank) want ^= value_at(rank, i);
    CHECK(buffer[i] == want, "Allreduce: byte %ld", (long)i);
  }

  const MPI_Count block = count / size_;
  for (MPI_Count i = 0; i < count; i = next_marked(i))
    buffer[i] = i / block == rank_ ? value_at(rank_, i) : 0;
  MPI_Allgather_c(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buffer, block, MPI_BYTE, MPI_COMM_WORLD);
  for (MPI_Count i = 0; i < block * size_; i = next_marked(i))
    CHECK(buffer[i] == value_at((int)(i / block), i), "Allgather: byte %ld", (long)i);
  free(buffer);
  MPI_Finalize();
  return 0;
}
