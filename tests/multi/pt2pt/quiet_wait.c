/* A rank that waits for a long time sleeps: its processor time is bounded. Two ranks wait in MPI_Recv; more
 * ranks also in a barrier. */
#include <sys/resource.h>
#include <unistd.h>

#include "../coll/check.h"

static double processor_ms(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return 1e3 * (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-3 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  for (int barrier = 0; barrier < (size_ > 2 ? 2 : 1); ++barrier) {
    const int late = rank_ == 1;
    int value = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime(), before_ms = processor_ms();
    if (late) sleep(1);
    if (barrier) {
      MPI_Barrier(MPI_COMM_WORLD);
    } else if (late) {
      for (int to = 0; to < size_; ++to)
        if (to != rank_) MPI_Send(&rank_, 1, MPI_INT, to, 1, MPI_COMM_WORLD);
    } else {
      MPI_Recv(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    const double used_ms = processor_ms() - before_ms;
    CHECK(MPI_Wtime() - start > 0.8, "did not wait");
    CHECK(used_ms < 100, "used %.0f ms of a processor in a wait of one second (%s)", used_ms,
          barrier ? "barrier" : "receive");
    if (rank_ == 0) printf("used %.1f ms\n", used_ms);
  }
  MPI_Finalize();
  return 0;
}
