/* A rank that always finds its next message must still progress its other operations (MPI 5.0 section 3.5,
   progress). Rank 0 sends a long message to rank 2 and meanwhile receives messages from rank 1, which
   continues until rank 2 has its message. Three ranks; argument: bytes of the messages that keep rank 0
   busy. */
#include <stdlib.h>
#include <string.h>

#include "../coll/check.h"

enum { long_bytes = 8 << 20, busy_bytes_max = 1 << 16 };

static void receive_all(int bytes, int posted) {
  static char data[busy_bytes_max];
  char* sent = malloc(long_bytes);
  MPI_Request request, receive;
  memset(sent, 5, long_bytes);
  MPI_Isend(sent, long_bytes, MPI_CHAR, 2, 1, MPI_COMM_WORLD, &request);
  do {
    if (posted) {
      MPI_Irecv(data, bytes, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &receive);
      MPI_Wait(&receive, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(data, bytes, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  } while (data[0] == 0);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  free(sent);
}

static void keep_busy(int bytes) {
  static char data[busy_bytes_max];
  MPI_Request done;
  int over = 0;
  MPI_Irecv(NULL, 0, MPI_CHAR, 2, 3, MPI_COMM_WORLD, &done);
  while (!over) {
    MPI_Test(&done, &over, MPI_STATUS_IGNORE);
    data[0] = (char)over;
    MPI_Send(data, bytes, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
  }
}

static void take_long(void) {
  char* received = calloc(1, long_bytes);
  MPI_Recv(received, long_bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < long_bytes; ++i) CHECK(received[i] == 5, "byte %d is %d", i, received[i]);
  MPI_Send(NULL, 0, MPI_CHAR, 1, 3, MPI_COMM_WORLD);
  free(received);
}

int main(int argc, char** argv) {
  const int bytes = argc > 1 ? atoi(argv[1]) : 8;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  for (int posted = 0; posted < 2; ++posted) {
    if (rank_ == 0) receive_all(bytes, posted);
    if (rank_ == 1) keep_busy(bytes);
    if (rank_ == 2) take_long();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
