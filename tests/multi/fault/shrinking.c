/* Ranks die one by one until two are left, and the survivors continue: each time the sum over the survivors
 * is right, and all agree on the members. No survivor adds what a dead rank contributed to an interrupted
 * sum. */
#include "fault.h"

/* The sum of `own` over the living members of `comm`, which is replaced by the shrunk communicator. */
static long sum_of_living(MPI_Comm* comm, long own) {
  for (;;) {
    long sum = 0;
    const int code = MPI_Allreduce(&own, &sum, 1, MPI_LONG, MPI_SUM, *comm);
    int all_well = code == MPI_SUCCESS;
    if (!all_well) MPIX_Comm_revoke(*comm);
    MPIX_Comm_agree(*comm, &all_well);
    if (all_well) return sum;
    MPI_Comm next;
    CHECK(MPIX_Comm_shrink(*comm, &next) == MPI_SUCCESS, "cannot shrink");
    MPI_Comm_free(comm);
    *comm = next;
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &own_rank_);
  int all;
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int steps = argc > 1 ? atoi(argv[1]) : 50;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  int lost = 0;
  for (int victim = all - 1; victim >= 1; --victim) {
    for (int step = 0; step < steps; ++step) {
      /* The last rank dies, anywhere in the call; two ranks survive. */
      if (own_rank_ == victim && victim >= 2 && step == steps / 2) {
        if (victim % 2 == 0) alarm(0), pause_ms(victim);
        die();
      }
      const long sum = sum_of_living(&comm, own_rank_ + 1);
      int size;
      MPI_Comm_size(comm, &size);
      const long expected = (long)size * (size + 1) / 2;
      CHECK(sum == expected, "step %d: the sum over %d ranks is %ld, not %ld", step, size, sum, expected);
      lost = all - size;
    }
  }
  CHECK(lost == (all > 2 ? all - 2 : 0), "%d of %d ranks were lost", lost, all);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
