/* Unexpected messages. Argument "many" and the maximum bytes for each: 100,000 small ones, received in
 * reverse order, in bounded time and memory. Argument "flood": one sender sends 64 MiB while its receiver
 * waits for another rank; HEARTH_P2P_UNEXPECTED_BYTES_MAX bounds the receiver's memory. */
#include <unistd.h>

#include "../coll/check.h"

static long resident_kib(void) {
  long kib = -1;
  char line[256];
  FILE* file = fopen("/proc/self/status", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) sscanf(line, "VmRSS: %ld", &kib);
  if (file != NULL) fclose(file);
  return kib;
}

static void many(long bytes_max) {
  enum { messages = 100000 };
  if (rank_ == 1) {
    long long* values = malloc(messages * sizeof *values);
    MPI_Request* requests = malloc(messages * sizeof(MPI_Request));
    for (int i = 0; i < messages; ++i) {
      values[i] = i * 7919LL;
      MPI_Isend(&values[i], 1, MPI_LONG_LONG, 0, i, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Send(NULL, 0, MPI_BYTE, 0, messages, MPI_COMM_WORLD);
    MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
    free(values);
    free(requests);
  } else if (rank_ == 0) {
    const long before_kib = resident_kib();
    MPI_Recv(NULL, 0, MPI_BYTE, 1, messages, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const long grown_bytes = (resident_kib() - before_kib) * 1024;
    CHECK(grown_bytes < bytes_max * messages, "%d messages of 8 bytes took %ld bytes", messages, grown_bytes);
    const double start = MPI_Wtime();
    for (int i = messages - 1; i >= 0; --i) {
      long long value = -1;
      MPI_Recv(&value, 1, MPI_LONG_LONG, 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(value == i * 7919LL, "message %d holds %lld", i, value);
    }
    printf("%ld bytes a message, received in %.3f s\n", grown_bytes / messages, MPI_Wtime() - start);
  }
}

static void flood(void) {
  enum { messages = 65536, length = 1024, bound_kib = 12 * 1024 };
  unsigned char data[length];
  if (rank_ == 1) {
    for (int i = 0; i < messages; ++i) {
      memset(data, i * 31 + 7, length);
      memcpy(data, &i, sizeof i);
      MPI_Send(data, length, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
    }
  } else if (rank_ == 2) {
    usleep(300 * 1000);
    MPI_Send(NULL, 0, MPI_BYTE, 0, 6, MPI_COMM_WORLD);
  } else if (rank_ == 0) {
    const long before_kib = resident_kib();
    MPI_Recv(NULL, 0, MPI_BYTE, 2, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const long waiting_kib = resident_kib() - before_kib;
    CHECK(waiting_kib < bound_kib, "memory grew by %ld KiB during the flood", waiting_kib);
    for (int i = 0; i < messages; ++i) {
      int number = -1;
      MPI_Recv(data, length, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      memcpy(&number, data, sizeof number);
      CHECK(number == i, "message %d came as number %d", number, i);
      for (int at = (int)sizeof number; at < length; ++at)
        CHECK(data[at] == (unsigned char)(i * 31 + 7), "message %d, byte %d is %d", i, at, data[at]);
    }
    const long after_kib = resident_kib() - before_kib;
    CHECK(after_kib < bound_kib, "memory grew by %ld KiB until all was received", after_kib);
    printf("memory grew by %ld KiB during the flood, %ld KiB in all\n", waiting_kib, after_kib);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  CHECK(argc >= 2 && size_ == 3, "wants 3 ranks and an argument: many or flood");
  alarm(40);
  if (strcmp(argv[1], "many") == 0) {
    many(argc > 2 ? atol(argv[2]) : 400);
  } else {
    flood();
  }
  MPI_Finalize();
  return 0;
}
