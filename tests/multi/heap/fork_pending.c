/* Ranks fork while peers use their heap: sends and receives that are pending, collectives in progress, a
 * window over memory of malloc. Children change all of it. Then ranks fork without anything pending, which
 * ends the sharing of the heap, and do the same again. */
#include <sys/wait.h>
#include <unistd.h>

#include "../coll/check.h"

enum { length = 300000 };
static int *sent, *received, *operand, *result, *windowed;
static int value_; /* of this round */

static void set(int* data, int value) {
  for (int i = 0; i < length; ++i) data[i] = value + i;
}

static int is(const int* data, int value) {
  for (int i = 0; i < length; ++i)
    if (data[i] != value + i) return 0;
  return 1;
}

/* The child sees the operands of this round and changes everything that peers may reach. */
static void fork_once(void) {
  const pid_t child = fork();
  CHECK(child >= 0, "no child");
  if (child == 0) {
    const int right = is(sent, rank_ + value_) && is(operand, value_);
    int* const all[] = {sent, received, operand, result, windowed};
    for (int i = 0; i < 5; ++i) set(all[i], -9000000);
    _exit(right ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0, "the child ended with status %d", status);
}

static void round_of(int value, int forks) {
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  MPI_Request requests[3];
  value_ = value;
  set(sent, rank_ + value);
  set(operand, value);
  set(received, -1);

  /* A send whose receive comes after the fork, beside a collective. */
  MPI_Isend(sent, length, MPI_INT, next, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Iallreduce(operand, result, length, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[1]);
  if (forks) fork_once();
  MPI_Irecv(received, length, MPI_INT, previous, 1, MPI_COMM_WORLD, &requests[2]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  CHECK(is(received, previous + value), "a message is wrong that was sent before a fork");
  CHECK(is(result, value), "a reduction is wrong that was started before a fork");

  /* A receive that was posted before the fork. */
  set(received, -1);
  MPI_Irecv(received, length, MPI_INT, previous, 2, MPI_COMM_WORLD, &requests[0]);
  if (forks) fork_once();
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(sent, length, MPI_INT, next, 2, MPI_COMM_WORLD);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  CHECK(is(received, previous + value), "a message is wrong whose receive was posted before a fork");
}

static void put_across_a_fork(MPI_Win win, int value) {
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  MPI_Win_fence(0, win);
  MPI_Put(sent, length / 2, MPI_INT, next, 0, length / 2, MPI_INT, win);
  fork_once();
  MPI_Put(sent + length / 2, length - length / 2, MPI_INT, next, length / 2, length - length / 2, MPI_INT,
          win);
  MPI_Win_fence(0, win);
  CHECK(is(windowed, previous + value), "a window is wrong after a fork");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  int** const all[] = {&sent, &received, &operand, &result, &windowed};
  for (int i = 0; i < 5; ++i) {
    *all[i] = malloc(length * sizeof(int));
    CHECK(*all[i] != NULL, "no memory");
    set(*all[i], 0);
  }
  for (int shared = 1; shared >= 0; --shared) {
    for (int round = 1; round <= 3; ++round) round_of(1000 * round, 1);
    for (int kind = 0; kind < 2; ++kind) { /* a window over the memory, then one that it is attached to */
      MPI_Win win;
      value_ = 5000 + kind;
      set(sent, rank_ + value_);
      set(operand, value_);
      if (kind == 0) {
        MPI_Win_create(windowed, length * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        put_across_a_fork(win, value_);
      } else {
        MPI_Aint own, theirs;
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        MPI_Win_attach(win, windowed, length * sizeof(int));
        MPI_Get_address(windowed, &own);
        MPI_Sendrecv(&own, 1, MPI_AINT, (rank_ + size_ - 1) % size_, 3, &theirs, 1, MPI_AINT,
                     (rank_ + 1) % size_, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Win_fence(0, win);
        fork_once();
        MPI_Put(sent, length, MPI_INT, (rank_ + 1) % size_, theirs, length, MPI_INT, win);
        MPI_Win_fence(0, win);
        CHECK(is(windowed, (rank_ + size_ - 1) % size_ + value_), "a dynamic window is wrong after a fork");
        MPI_Win_detach(win, windowed);
      }
      MPI_Win_free(&win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (shared) fork_once(); /* nothing is pending */
    round_of(9000, 0);
  }
  for (int i = 0; i < 5; ++i) free(*all[i]);
  MPI_Finalize();
  return 0;
}
