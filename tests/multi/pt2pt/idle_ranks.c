/* Two ranks play ping-pong while all other ranks wait in MPI_Recv and must not slow them down. */
#include "../coll/check.h"

int main(int argc, char** argv) {
  enum { rounds = 20000 };
  int value = -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  const double start = MPI_Wtime();
  if (rank_ < 2) {
    for (int round = 0; round < rounds; ++round) {
      if (rank_ == 0) MPI_Send(&round, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
      MPI_Recv(&value, 1, MPI_INT, 1 - rank_, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(value == round, "round %d brought %d", round, value);
      if (rank_ == 1) MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
    for (int to = 2; rank_ == 0 && to < size_; ++to) MPI_Send(&to, 1, MPI_INT, to, 2, MPI_COMM_WORLD);
    if (rank_ == 0) printf("%d rounds in %.3f s\n", rounds, MPI_Wtime() - start);
  } else {
    MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(value == rank_, "was woken by %d", value);
  }
  MPI_Finalize();
  return 0;
}
