/* MPIX_Comm_revoke: calls on the communicator end on all ranks, both those that wait and later ones; other
 * communicators are not affected; shrink and agree work on the revoked communicator. No rank fails here. */
#include "fault.h"

enum { long_count = 1 << 20, partitions = 4, ways = 9 };

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
  expect_revoked(MPI_Send(&number, 1, MPI_INT, MPI_PROC_NULL, 1, comm), "send to no process");
  expect_revoked(MPI_Recv(&number, 1, MPI_INT, MPI_PROC_NULL, 1, comm, MPI_STATUS_IGNORE),
                 "receive from no process");
  expect_revoked(MPI_Isend(&number, 1, MPI_INT, MPI_PROC_NULL, 1, comm, &request), "isend to no process");
  expect_revoked(MPI_Irecv(&number, 1, MPI_INT, MPI_PROC_NULL, 1, comm, &request), "irecv from no process");
  MPI_Message message;
  expect_revoked(MPI_Probe(MPI_PROC_NULL, 1, comm, MPI_STATUS_IGNORE), "probe of no process");
  expect_revoked(MPI_Iprobe(MPI_PROC_NULL, 1, comm, &flag, MPI_STATUS_IGNORE), "iprobe of no process");
  expect_revoked(MPI_Mprobe(MPI_PROC_NULL, 1, comm, &message, MPI_STATUS_IGNORE), "mprobe of no process");
  expect_revoked(MPI_Improbe(MPI_PROC_NULL, 1, comm, &flag, &message, MPI_STATUS_IGNORE),
                 "improbe of no process");
  expect_revoked(MPI_Barrier(comm), "barrier");
  expect_revoked(MPI_Allreduce(&rank, &number, 1, MPI_INT, MPI_SUM, comm), "allreduce");
  MPI_Comm made;
  expect_revoked(MPI_Comm_dup(comm, &made), "dup");
  MPIX_Comm_is_revoked(comm, &flag);
  CHECK(flag, "it does not say that it is revoked");
  int asked;
  CHECK(MPI_Comm_rank(comm, &asked) == MPI_SUCCESS && asked == rank, "local calls must go on");
}

/* MPI_REQUEST_NULL if the communicator has been revoked already. */
static MPI_Request partitioned(MPI_Comm comm, int sends, int peer, int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int count = long_count / partitions;
  const int code =
      sends ? MPI_Psend_init(data, partitions, count, MPI_INT, peer, tag, comm, MPI_INFO_NULL, &request)
            : MPI_Precv_init(data, partitions, count, MPI_INT, peer, tag, comm, MPI_INFO_NULL, &request);
  if (code != MPI_SUCCESS) expect_revoked(code, "a partitioned request");
  return code == MPI_SUCCESS ? request : MPI_REQUEST_NULL;
}

/* The sends that rank 0 has created before it revokes: they announce partitions to the receives of all other
 * ranks, and no partition is ever ready. */
static MPI_Request offered[64];

static void offer_partitions(MPI_Comm comm, int number) {
  for (int to = 1; to < size && number == ways - 1; ++to) {
    offered[to] = partitioned(comm, 1, to, 8);
  }
}

/* All ranks but 0 wait in call `number` when rank 0 revokes. */
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
    case 6: /* all partitions are ready, and rank 0 never receives them */
      request = partitioned(comm, 1, 0, 7);
      if (request == MPI_REQUEST_NULL) return;
      MPI_Start(&request);
      MPI_Pready_range(0, partitions - 1, request);
      code = MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Request_free(&request);
      /* All partitions may have been sent before the revocation. */
      if (code == MPI_SUCCESS) code = MPI_Recv(data, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
      return expect_revoked(code, "partitioned send");
    case 7: /* rank 0 never announces partitions; then it does and sends none (offer_partitions) */
    case ways - 1:
      request = partitioned(comm, 0, 0, 8);
      if (request == MPI_REQUEST_NULL) return;
      for (int cycle = 0; cycle < 2; ++cycle) {
        MPI_Start(&request);
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect_revoked(code, "partitioned receive");
      }
      MPI_Request_free(&request);
      return;
    default:
      code = MPI_Ibarrier(comm, &request);
      if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
      return expect_revoked(code, "ibarrier");
  }
}

/* The fastest rank revokes a duplicate before the others know its context id. */
static void revoke_before_others_have_it(void) {
  for (int round = 0; round < 5; ++round) {
    MPI_Comm comm;
    if (rank != 0) pause_ms(2);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS, "cannot duplicate");
    if (rank == 0) CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS, "cannot revoke");
    expect_revoked(MPI_Barrier(comm), "barrier on a duplicate revoked early");
    MPI_Comm_free(&comm);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &own_rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  rank = own_rank_;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  data = calloc(long_count, sizeof *data);
  for (int round = 0; round < 3 * (ways + 1); ++round) {
    MPI_Comm comm;
    round_ = round;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    /* A message that no rank receives, ahead of the others. */
    int number = round;
    MPI_Send(&number, 1, MPI_INT, (rank + 1) % size, 99, comm);
    /* A call without a communicator argument, whose request belongs to the communicator. */
    MPI_Request again, to_none;
    MPI_Barrier_init(comm, MPI_INFO_NULL, &again);
    MPI_Send_init(&number, 1, MPI_INT, MPI_PROC_NULL, 1, comm, &to_none);
    MPI_Barrier(comm);
    if (rank == 0) {
      offer_partitions(comm, round % (ways + 1));
      if (round % 3 != 0) pause_ms(round % 3 * 2);
      CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS, "cannot revoke");
    } else {
      wait_somewhere(comm, round % (ways + 1));
    }
    for (int to = 1; to < size && rank == 0 && round % (ways + 1) == ways - 1; ++to) {
      CHECK(MPI_Request_free(&offered[to]) == MPI_SUCCESS, "cannot free it");
    }
    calls_are_refused(comm);
    expect_revoked(MPI_Start(&again), "start");
    MPI_Request_free(&again);
    expect_revoked(MPI_Start(&to_none), "start of a send to no process");
    MPI_Request_free(&to_none);
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
    /* MPI_COMM_WORLD is unaffected. */
    number = 100 + round;
    CHECK(MPI_Sendrecv_replace(&number, 1, MPI_INT, (rank + 1) % size, 7, (rank + size - 1) % size, 7,
                               MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
              number == 100 + round,
          "MPI_COMM_WORLD is disturbed");
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS, "MPI_COMM_WORLD is disturbed");
  }
  revoke_before_others_have_it();
  free(data);
  MPI_Finalize();
  return 0;
}
