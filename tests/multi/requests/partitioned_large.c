/* Partitioned messages by the names with large counts, which only some libraries have: they are the same
 * functions, whose counts are large anyway (MPI 5.0 section 4.2). Any number of ranks: a ring. */
#include <limits.h>

#include "../coll/check.h"

enum { kPartitions = 5, kCount = 3000, kRounds = 3 };

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  static int sent[kPartitions * kCount], got[kPartitions * kCount];
  MPI_Request requests[4];
  MPI_Datatype nothing;
  MPI_Type_contiguous(0, MPI_INT, &nothing);
  MPI_Type_commit(&nothing);
  MPI_Psend_init_c(sent, kPartitions, kCount, MPI_INT, next, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Precv_init_c(got, 1, kPartitions * kCount, MPI_INT, previous, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[1]);
  /* A count that does not fit an int. */
  const MPI_Count many = (MPI_Count)INT_MAX + 7;
  MPI_Psend_init_c(NULL, 1, many, nothing, next, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
  MPI_Precv_init_c(NULL, 1, many, nothing, previous, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[3]);
  for (int round = 0; round < kRounds; ++round) {
    MPI_Status statuses[4];
    int count = -1;
    for (int i = 0; i < kPartitions * kCount; ++i) sent[i] = rank_ * 1000003 + round * 101 + i;
    memset(got, -1, sizeof got);
    MPI_Startall(4, requests);
    for (int partition = kPartitions - 1; partition >= 0; --partition) MPI_Pready(partition, requests[0]);
    MPI_Pready(0, requests[2]);
    CHECK(MPI_Waitall(4, requests, statuses) == MPI_SUCCESS, "round %d fails", round);
    for (int i = 0; i < kPartitions * kCount; ++i)
      CHECK(got[i] == previous * 1000003 + round * 101 + i, "round %d: number %d is %d", round, i, got[i]);
    MPI_Get_count(&statuses[1], MPI_INT, &count);
    CHECK(count == kPartitions * kCount && statuses[1].MPI_SOURCE == previous, "%d numbers from %d", count,
          statuses[1].MPI_SOURCE);
  }
  for (int i = 0; i < 4; ++i) MPI_Request_free(&requests[i]);
  const int code =
      MPI_Psend_init_c(sent, 1, -1, MPI_INT, next, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  CHECK(class_of(code) == MPI_ERR_COUNT, "a count of -1: class %d", class_of(code));
  MPI_Type_free(&nothing);
  MPI_Finalize();
  return 0;
}
