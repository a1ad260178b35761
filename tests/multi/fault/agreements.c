/* Agreements while ranks die: all survivors get the same result and the same error class. Ranks die before
 * they contribute, in the middle, and right after they may have decided for all. */
#include "fault.h"

/* Checks by messages on a communicator of the survivors that all of them have the same number. */
static void all_say(MPI_Comm living, int number, const char* what) {
  int least = 0, most = 0;
  MPI_Allreduce(&number, &least, 1, MPI_INT, MPI_MIN, living);
  MPI_Allreduce(&number, &most, 1, MPI_INT, MPI_MAX, living);
  CHECK(least == most, "%s: some say %d, some %d", what, least, most);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &own_rank_);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm comm, living;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  /* Starts with rank 0, which decides as long as it is alive. */
  for (int victim = 0; victim < size - 2; ++victim) {
    int codes[8], flags[8];
    for (int i = 0; i < 8; ++i) {
      flags[i] = ~(1 << (own_rank_ + i) % 30);
      if (own_rank_ == victim && i == 4) {
        MPI_Request request;
        if (victim % 3 == 1) MPIX_Comm_iagree(comm, &flags[i], &request);
        if (victim % 3 == 2) alarm(0), pause_ms(1);
        die();
      }
      codes[i] = class_of(MPIX_Comm_agree(comm, &flags[i]));
    }
    CHECK(MPIX_Comm_shrink(comm, &living) == MPI_SUCCESS, "cannot shrink");
    int now;
    MPI_Comm_size(living, &now);
    CHECK(now == size - victim - 1, "%d ranks are left of %d", now, size - victim);
    for (int i = 0; i < 8; ++i) {
      all_say(living, flags[i], "flags");
      all_say(living, codes[i], "class");
      if (i < 4 && victim == 0) CHECK(codes[i] == MPI_SUCCESS, "an error before the first death");
      /* A victim that has called MPIX_Comm_iagree dies after its contribution, which may complete the
       * agreement. */
      const int may_complete = i == 4 && victim % 3 == 1 && codes[i] == MPI_SUCCESS;
      CHECK(i < 4 || may_complete || codes[i] == MPIX_ERR_PROC_FAILED, "agreement %d: no error", i);
      if (may_complete) CHECK((flags[i] & 1 << (victim + i) % 30) == 0, "the part of the victim is missing");
      for (int rank = victim + 1; rank < size; ++rank) {
        CHECK((flags[i] & 1 << (rank + i) % 30) == 0, "the part of rank %d is missing", rank);
      }
    }
    MPI_Comm_free(&living);
    /* Without an error once every rank has acknowledged the failure. */
    CHECK(MPIX_Comm_failure_ack(comm) == MPI_SUCCESS, "cannot acknowledge");
    MPI_Group failed;
    int count, flag = 1;
    MPIX_Comm_failure_get_acked(comm, &failed);
    MPI_Group_size(failed, &count);
    CHECK(count == victim + 1, "%d are acknowledged, not %d", count, victim + 1);
    MPI_Group_free(&failed);
    MPIX_Comm_get_failed(comm, &failed);
    MPI_Group_size(failed, &count);
    CHECK(count == victim + 1, "%d are known, not %d", count, victim + 1);
    MPI_Group_free(&failed);
    MPI_Request request;
    CHECK(MPIX_Comm_iagree(comm, &flag, &request) == MPI_SUCCESS, "cannot begin");
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag == 1, "an error though all know");
    MPIX_Comm_ishrink(comm, &living, &request);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "cannot shrink behind a request");
    CHECK(MPI_Barrier(living) == MPI_SUCCESS, "what is left does not work");
    MPI_Comm_free(&living);
  }
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
