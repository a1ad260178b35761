/* MPIX_Comm_revoke: calls on the communicator end on all ranks, those that wait and those that come later;
 * other communicators do not notice; shrink and agree work on what was revoked. Nobody dies here.
 */
#include "fault.h"

enum { long_count = 1 << 20 };

static int rank, size;
static int* data;

static int round_;

static void expect_revoked(int code, const char* what) {
  CHECK(class_of(code) == MPIX_ERR_REVOKED, "round %d: %s: %s", round_, what, words_of(code));
}

static void calls_are_refused(MPI_Comm comm) {
  const int other = (rank + 1) % size;
  MPI_Request request = MPI_REQUEST_NULL;
  int flag, number = rank;
  expect_revoked(MPI_Send(&number, 1, MPI_INT, other, 1, comm), "send");
  expect_revoked(MPI_Recv(&number, 1, MPI_INT, other, 1, comm, MPI_STATUS_IGNORE), "receive");
  int code = MPI_Isend(data, long_count, MPI_INT, other, 1, comm, &request);
  if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect_revoked(code, "isend");
  code = MPI_Irecv(data, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, &request);
  if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect_revoked(code, "irecv");
  expect_revoked(MPI_Iprobe(MPI_ANY_SOURCE, 1, comm, &flag, MPI_STATUS_IGNORE), "iprobe");
  expect_revoked(MPI_Barrier(comm), "barrier");
  expect_revoked(MPI_Allreduce(&rank, &number, 1, MPI_INT, MPI_SUM, comm), "allreduce");
  MPI_Comm made;
  expect_revoked(MPI_Comm_dup(comm, &made), "dup");
  MPIX_Comm_is_revoked(comm, &flag);
  CHECK(flag, "it does not say that it is revoked");
  int asked;
  CHECK(MPI_Comm_rank(comm, &asked) == MPI_SUCCESS && asked == rank, "local calls must go on");
}

/* All but rank 0 wait in a call of this number when rank 0 revokes. */
static void wait_somewhere(MPI_Comm comm, int number) {
  MPI_Request request;
  int code;
  switch (number) {
    case 0:
      return expect_revoked(MPI_Recv(data, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, MPI_STATUS_IGNORE),
                            "receive");
    case 1:
      return expect_revoked(MPI_Barrier(comm), "barrier");
    case 2:
      return expect_revoked(MPI_Ssend(data, long_count, MPI_INT, 0, 1, comm), "long send");
    case 3:
      return expect_revoked(MPI_Allreduce(MPI_IN_PLACE, data, long_count, MPI_INT, MPI_SUM, comm),
                            "allreduce");
    case 4:
      return expect_revoked(MPI_Ssend(data, 1, MPI_INT, 0, 1, comm), "ssend");
    case 5:
      code = MPI_Irecv(data, 1, MPI_INT, 0, 1, comm, &request);
      if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
      return expect_revoked(code, "irecv");
    default:
      code = MPI_Ibarrier(comm, &request);
      if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
      return expect_revoked(code, "ibarrier");
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &own_rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  rank = own_rank_;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  data = calloc(long_count, sizeof *data);
  for (int round = 0; round < 21; ++round) {
    MPI_Comm comm;
    round_ = round;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    /* Something that nobody receives, in the way. */
    int number = round;
    MPI_Send(&number, 1, MPI_INT, (rank + 1) % size, 99, comm);
    MPI_Barrier(comm);
    if (rank == 0) {
      if (round % 3 != 0) pause_ms(round % 3 * 2);
      CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS, "cannot revoke");
    } else {
      wait_somewhere(comm, round % 7);
    }
    calls_are_refused(comm);
    int flags = rank == 1 ? 5 : 7;
    CHECK(MPIX_Comm_agree(comm, &flags) == MPI_SUCCESS && flags == 5, "agreed on %d", flags);
    MPI_Comm next;
    CHECK(MPIX_Comm_shrink(comm, &next) == MPI_SUCCESS, "cannot shrink");
    MPI_Comm_free(&comm);
    int sum = 0, next_size;
    MPI_Comm_size(next, &next_size);
    CHECK(MPI_Allreduce(&round, &sum, 1, MPI_INT, MPI_SUM, next) == MPI_SUCCESS && sum == size * round &&
              next_size == size,
          "the sum over %d ranks is %d", next_size, sum);
    MPI_Comm_free(&next);
    /* MPI_COMM_WORLD has not noticed, and is as it was. */
    number = 100 + round;
    CHECK(MPI_Sendrecv_replace(&number, 1, MPI_INT, (rank + 1) % size, 7, (rank + size - 1) % size, 7,
                               MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
              number == 100 + round,
          "MPI_COMM_WORLD is disturbed");
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS, "MPI_COMM_WORLD is disturbed");
  }
  free(data);
  MPI_Finalize();
  return 0;
}
