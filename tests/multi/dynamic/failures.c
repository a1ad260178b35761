/* A spawned process dies: calls of the parents return errors, and the parents continue. */
#include <mpi-ext.h>
#include <signal.h>
#include <unistd.h>

#include "joint.h"

static void child(void) {
  MPI_Comm parent, merged;
  MPI_Comm_get_parent(&parent);
  MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
  MPI_Intercomm_merge(parent, 1, &merged);
  MPI_Barrier(merged);
  if (rank_ == 0) kill(getpid(), SIGKILL);
  /* The own mpiexec ends the rest of this job. */
  for (;;) pause();
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  MPI_Comm inter, merged, shrunk;
  MPI_Comm_get_parent(&inter);
  if (inter != MPI_COMM_NULL) child();
  MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  MPI_Intercomm_merge(inter, 0, &merged);
  MPI_Barrier(merged);
  int value = 0;
  int code = MPI_Recv(&value, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
  CHECK(class_of(code) == MPIX_ERR_PROC_FAILED, "MPI_Recv from a dead child: class %d", class_of(code));
  code = MPI_Barrier(merged);
  CHECK(class_of(code) == MPIX_ERR_PROC_FAILED, "MPI_Barrier with a dead child: class %d", class_of(code));
  code = MPIX_Comm_shrink(merged, &shrunk);
  CHECK(code == MPI_SUCCESS, "MPIX_Comm_shrink: class %d", class_of(code));
  int left;
  MPI_Comm_size(shrunk, &left);
  CHECK(left == size_, "%d processes are left, not %d", left, size_);
  MPI_Barrier(shrunk);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_free(&shrunk);
  MPI_Comm_free(&merged);
  MPI_Comm_disconnect(&inter);
  /* The same once more, with a process that gets the index of the dead one. */
  if (argc == 1) {
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Intercomm_merge(inter, 0, &merged);
    MPI_Barrier(merged);
    code = MPI_Recv(&value, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
    CHECK(class_of(code) == MPIX_ERR_PROC_FAILED, "MPI_Recv from the next child: class %d", class_of(code));
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&inter);
  }
  MPI_Finalize();
  return 0;
}
