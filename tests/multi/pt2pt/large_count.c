/* One message of more than 2^31 bytes. Needs 5 GB of memory; with less it prints a message and stops. Two
 * ranks. */
#include "../coll/check.h"

static long available_kib(void) {
  long kib = -1;
  char line[256];
  FILE* file = fopen("/proc/meminfo", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) sscanf(line, "MemAvailable: %ld", &kib);
  if (file != NULL) fclose(file);
  return kib;
}

static unsigned char value_at(MPI_Count i) {
  return (unsigned char)((unsigned long)i * 2654435761u >> 13);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  int enough = available_kib() > 5L * 1024 * 1024;
  MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (!enough || size_ != 2) {
    if (rank_ == 0) printf("left out: wants 2 ranks and 5 GB of memory\n");
    MPI_Finalize();
    return 0;
  }
  const MPI_Count length = ((MPI_Count)1 << 31) + 17, step = 4093;
  unsigned char* data = calloc((size_t)length + 8, 1);
  CHECK(data != NULL, "no memory");
  if (rank_ == 0) {
    for (MPI_Count i = 0; i < length; i += i < 4096 || i >= length - 4096 - step ? 1 : step)
      data[i] = value_at(i);
    MPI_Send_c(data, length, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
  } else {
    MPI_Status status;
    MPI_Count count = -1;
    int short_count = 0;
    memset(data + length, 0xa5, 8);
    MPI_Recv_c(data, length, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status);
    MPI_Get_count_c(&status, MPI_BYTE, &count);
    CHECK(count == length, "MPI_Get_count_c says %lld", (long long)count);
    MPI_Get_count(&status, MPI_BYTE, &short_count);
    CHECK(short_count == MPI_UNDEFINED, "MPI_Get_count says %d", short_count);
    for (MPI_Count i = 0; i < length; i += i < 4096 || i >= length - 4096 - step ? 1 : step)
      CHECK(data[i] == value_at(i), "byte %lld is %d", (long long)i, data[i]);
    for (int i = 0; i < 8; ++i) CHECK(data[length + i] == 0xa5, "byte %d behind the buffer was written", i);
  }
  free(data);
  MPI_Finalize();
  return 0;
}
