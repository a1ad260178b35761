/* A collective region is reclaimed if a member is killed while it allocates the region, leaves it as the last
 * member or clears it, or before the other members have received the region's number. Run with HEARTH_CHAOS,
 * which kills rank 0 at these points. Rank 0 allocates the region of `twin` and is the last to leave it. With
 * an argument rank 0 is the first to leave, and the other ranks create `twin` after they have detected its
 * death. */
#include "areas.h"

enum { patience = 1000 };

/* Whether this rank knows of the failure. */
static int has_heard(void) {
  int something, acknowledged = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &something, MPI_STATUS_IGNORE);
  MPIX_Comm_ack_failed(MPI_COMM_WORLD, 1, &acknowledged);
  return acknowledged == 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &own_rank_);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD); /* every rank returns errors before rank 0 dies */
  MPI_Comm parent, twin;
  CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &parent) == MPI_SUCCESS, "no communicator");
  MPI_Barrier(parent); /* every rank has its region before rank 0 dies */
  for (int tries = 0; argc > 1 && own_rank_ != 0 && !has_heard(); ++tries) {
    CHECK(tries < patience, "no rank was killed");
    pause_ms(5);
  }
  const int code = MPI_Comm_dup(parent, &twin);
  if (code == MPI_SUCCESS) {
    if (argc == 1) MPI_Barrier(twin); /* so that there is something to clear */
    if (argc == 1 && own_rank_ == 0) pause_ms(100);
    MPI_Comm_free(&twin);
  } else {
    CHECK(class_of(code) == MPIX_ERR_PROC_FAILED, "%s", words_of(code));
  }
  CHECK(own_rank_ != 0, "no rank was killed");
  MPI_Comm_free(&parent);
  for (int tries = 0; !has_heard() || regions_taken() != 1; ++tries) {
    CHECK(tries < patience, "%lld areas are taken and not used", regions_taken() - 1);
    pause_ms(5);
  }
  MPI_Finalize();
  return 0;
}
