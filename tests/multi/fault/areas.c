/* A control area comes back whose taker, last one to leave, or clearer is killed in the middle of that. Run
 * with HEARTH_CHAOS, which kills rank 0 there: it takes the area of `twin`, and is the last to leave it. */
#include "areas.h"

enum { patience = 1000 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int something;
  MPI_Comm_rank(MPI_COMM_WORLD, &own_rank_);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD); /* nobody dies before all have said so */
  MPI_Comm parent, twin;
  CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &parent) == MPI_SUCCESS, "no communicator");
  MPI_Barrier(parent); /* and not before all have it */
  const int code = MPI_Comm_dup(parent, &twin);
  if (code == MPI_SUCCESS) {
    MPI_Barrier(twin); /* so that there is something to clear */
    if (own_rank_ == 0) pause_ms(100);
    MPI_Comm_free(&twin);
  } else {
    CHECK(class_of(code) == MPIX_ERR_PROC_FAILED, "%s", words_of(code));
  }
  CHECK(own_rank_ != 0, "nobody was killed");
  MPI_Comm_free(&parent);
  int acknowledged = 0, tries = 0;
  for (; acknowledged == 0 || areas_taken() != 1; ++tries) {
    CHECK(tries < patience, "%lld areas are taken that nobody uses", areas_taken() - 1);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &something, MPI_STATUS_IGNORE);
    MPIX_Comm_ack_failed(MPI_COMM_WORLD, 1, &acknowledged);
    pause_ms(5);
  }
  MPI_Finalize();
  return 0;
}
