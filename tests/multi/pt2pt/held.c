/* A message that fits into the sender's bounce buffers does not wait for its receiver, whatever the lengths
 * of its fragments: MPI_Send returns although the receiver waits for a later message. Two ranks. */
#include "../coll/check.h"

/* Bounce buffers hold twelve fragments of 64 KiB. A message of 512 KiB has more than twelve fragments while
 * its receiver keeps up. */
static const int lengths[] = {100000, 512 << 10, 600001, 720000, 768 << 10};
enum { count = sizeof lengths / sizeof lengths[0], rounds = 5 };

int main(int argc, char** argv) {
  static unsigned char data[768 << 10];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  for (int i = 0; i < count * rounds; ++i) {
    const int length = lengths[i % count];
    if (rank_ == 0) {
      memset(data, i + 1, (size_t)length);
      MPI_Send(data, length, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
      MPI_Send(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
      MPI_Recv(NULL, 0, MPI_BYTE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      memset(data, 0, sizeof data);
      MPI_Recv(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Recv(data, length, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int at = 0; at < length; ++at) {
        CHECK(data[at] == (unsigned char)(i + 1), "byte %d of %d is %d, not %d", at, length, data[at], i + 1);
      }
      MPI_Send(NULL, 0, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
    }
  }
  MPI_Finalize();
  return 0;
}
