/* While one rank sleeps for a second before it comes to a collective, the others use next to no processor
 * time, and go on when it comes. */
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"

static double processor_time(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void meet(int kind) {
  int word = rank_, sum = 0;
  MPI_Request request;
  switch (kind) {
    case 0:
      MPI_Barrier(MPI_COMM_WORLD);
      break;
    case 1:
      MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      CHECK(sum == size_ * (size_ - 1) / 2, "sum %d", sum);
      break;
    default:
      word = rank_ == 0 ? 7 : 0;
      MPI_Ibcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      CHECK(word == 7, "word %d", word);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  for (int kind = 0; kind < 3; ++kind) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double time = now();
    const double used = processor_time();
    if (rank_ == 0) {
      usleep(1000000);
      meet(kind);
      continue;
    }
    meet(kind);
    const double waited = now() - time;
    CHECK(waited > 0.5, "kind %d: over after %.3f s, before rank 0 came", kind, waited);
    CHECK(processor_time() - used < 0.1, "kind %d: %.3f s of processor time in %.3f s", kind,
          processor_time() - used, waited);
  }
  MPI_Finalize();
  return 0;
}
