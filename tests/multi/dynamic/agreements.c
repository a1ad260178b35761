/* Agreements over an intercommunicator between two jobs, before and after the death of a child. The arguments
 * of the children differ from those of the parents. */
#include <mpi-ext.h>
#include <signal.h>
#include <unistd.h>

#include "joint.h"

enum { children = 3, dead = 1 };

static void check_agreement(MPI_Comm inter, int is_child, int expected_class, const char* when) {
  MPI_Request request;
  int flag = is_child ? 6 : 3;
  int code = MPIX_Comm_agree(inter, &flag);
  CHECK(class_of(code) == expected_class && flag == 2, "%s: MPIX_Comm_agree returned class %d, flag %d", when,
        class_of(code), flag);
  flag = is_child ? 12 : rank_ == 0 ? 5 : 7;
  code = MPIX_Comm_iagree(inter, &flag, &request);
  if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(class_of(code) == expected_class && flag == 4, "%s: MPIX_Comm_iagree returned class %d, flag %d",
        when, class_of(code), flag);
}

static void check_shrunk(MPI_Comm inter, int is_child, int parents) {
  MPI_Comm shrunk;
  const int one = 1;
  int size, remotes, sum;
  CHECK(MPIX_Comm_shrink(inter, &shrunk) == MPI_SUCCESS, "MPIX_Comm_shrink failed");
  MPI_Comm_size(shrunk, &size);
  MPI_Comm_remote_size(shrunk, &remotes);
  CHECK(size == (is_child ? children - 1 : parents), "%d processes are left here", size);
  CHECK(remotes == (is_child ? parents : children - 1), "%d processes are left in the other group", remotes);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, shrunk);
  CHECK(sum == remotes, "MPI_Allreduce brought %d of %d", sum, remotes);
  check_messages(shrunk);
  MPI_Comm_disconnect(&shrunk);
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  MPI_Comm inter;
  int parents, code, value;
  MPI_Comm_get_parent(&inter);
  const int is_child = inter != MPI_COMM_NULL;
  if (!is_child) {
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                   MPI_ERRCODES_IGNORE);
  }
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  parents = size_;
  if (is_child) MPI_Comm_remote_size(inter, &parents);
  check_agreement(inter, is_child, MPI_SUCCESS, "all live");
  if (is_child && rank_ == dead) kill(getpid(), SIGKILL);
  check_agreement(inter, is_child, MPIX_ERR_PROC_FAILED, "one is dead");
  /* Until this process has noticed it. */
  code = MPI_Recv(&value, 1, MPI_INT, dead, 0, is_child ? MPI_COMM_WORLD : inter, MPI_STATUS_IGNORE);
  CHECK(class_of(code) == MPIX_ERR_PROC_FAILED, "MPI_Recv from the dead child: class %d", class_of(code));
  MPIX_Comm_failure_ack(inter);
  check_agreement(inter, is_child, MPI_SUCCESS, "all have acknowledged it");
  check_shrunk(inter, is_child, parents);
  MPI_Comm_disconnect(&inter);
  MPI_Finalize();
  return 0;
}
