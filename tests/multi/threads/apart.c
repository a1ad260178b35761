/* Threads that are blocked in different MPI calls on their own communicators do not delay a thread that plays
 * ping-pong: if each step had to wait for one of their sleeps, the test would exceed its time limit. Two
 * ranks. apart [rounds] */
#include <time.h>

#include "crew.h"

enum { blocked = 6, tag_end = 9 };

static int rounds = 500;

static MPI_Comm comms[blocked], table;

static void wait_on(int kind, MPI_Comm comm) {
  int in = -1;
  const int peer = 1 - rank_;
  MPI_Request request;
  MPI_Message message;
  switch (kind) {
    case 0:
      MPI_Recv(&in, 1, MPI_INT, peer, tag_end, comm, MPI_STATUS_IGNORE);
      break;
    case 1:
      MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      break;
    case 2:
      MPI_Probe(peer, tag_end, comm, MPI_STATUS_IGNORE);
      MPI_Recv(&in, 1, MPI_INT, peer, tag_end, comm, MPI_STATUS_IGNORE);
      break;
    case 3:
      MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, MPI_STATUS_IGNORE);
      MPI_Mrecv(&in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
      break;
    case 4:
      /* Rank 0 waits in this barrier until rank 1 enters it. */
      MPI_Barrier(comm);
      in = kind;
      break;
    case 5:
      in = kind;
      if (rank_ == 0) MPI_Bcast(&in, 1, MPI_INT, 1, comm);
      break;
    default:
      break;
  }
  CHECK(in == kind, "the blocked thread %d received %d", kind, in);
}

static void release(int kind) {
  const int peer = 1 - rank_;
  if (kind < 4) MPI_Send(&kind, 1, MPI_INT, peer, tag_end, comms[kind]);
  if (kind == 4 && rank_ == 1) MPI_Barrier(comms[kind]);
  if (kind == 5 && rank_ == 1) MPI_Bcast(&kind, 1, MPI_INT, 1, comms[kind]);
}

static double ping_pong(void) {
  const int peer = 1 - rank_;
  const double begin = MPI_Wtime();
  for (int round = 0; round < rounds; ++round) {
    int ball = round;
    if (rank_ == 0) MPI_Send(&ball, 1, MPI_INT, peer, 0, table);
    ball = -1;
    MPI_Recv(&ball, 1, MPI_INT, peer, 0, table, MPI_STATUS_IGNORE);
    CHECK(ball == round, "round %d: ball %d", round, ball);
    if (rank_ == 1) MPI_Send(&ball, 1, MPI_INT, peer, 0, table);
  }
  return MPI_Wtime() - begin;
}

static void body(int thread) {
  if (thread < blocked) {
    /* Rank 1 has no thread in this barrier: it enters last of all. */
    if (thread == 4 && rank_ == 1) return;
    wait_on(thread, comms[thread]);
    return;
  }
  /* By then the other threads are blocked, possibly asleep. */
  struct timespec pause = {0, 100 * 1000 * 1000};
  nanosleep(&pause, NULL);
  const double seconds = ping_pong();
  if (rank_ == 0) printf("%d round trips beside %d blocked threads: %.3f s\n", rounds, blocked, seconds);
  for (int kind = 0; kind < blocked; ++kind) release(kind);
}

int main(int argc, char** argv) {
  crew_init(&argc, &argv);
  if (argc > 1) rounds = atoi(argv[1]);
  CHECK(size_ == 2, "%d ranks, not 2", size_);
  MPI_Comm_dup(MPI_COMM_WORLD, &table);
  for (int i = 0; i < blocked; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  const double alone = ping_pong();
  if (rank_ == 0) printf("%d round trips of the only thread: %.3f s\n", rounds, alone);
  crew_run(blocked + 1, body);
  for (int i = 0; i < blocked; ++i) MPI_Comm_free(&comms[i]);
  MPI_Comm_free(&table);
  MPI_Finalize();
  return 0;
}
