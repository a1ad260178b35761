/* MPI_THREAD_MULTIPLE: each thread runs blocking and nonblocking collectives on its own communicator at the
 * same time. Any thread may progress any collective. */
#include <pthread.h>

#include "check.h"

enum { kThreads = 4, kTurns = 60, kWords = 3000 };

static MPI_Comm comms[kThreads];

static void* work(void* argument) {
  const int thread = (int)(size_t)argument;
  MPI_Comm comm = comms[thread];
  int* words = malloc(sizeof(int) * kWords);
  int* sums = malloc(sizeof(int) * kWords);
  int* others = malloc(sizeof(int) * (size_t)size_);
  MPI_Request requests[3], persistent;
  int in = 0, sum = 0;
  MPI_Allreduce_init(&in, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &persistent);
  for (int turn = 0; turn < kTurns; ++turn) {
    const int root = (turn + thread) % size_;
    const int length = turn % 7 == 0 ? kWords : turn;
    for (int i = 0; i < length; ++i) words[i] = rank_ + thread * turn + i;
    in = thread + rank_ * turn;
    MPI_Start(&persistent);
    MPI_Iallreduce(words, sums, length, MPI_INT, MPI_SUM, comm, &requests[0]);
    MPI_Iallgather(&words[0], 1, MPI_INT, others, 1, MPI_INT, comm, &requests[1]);
    int told = rank_ == root ? turn * 10 + thread : -1;
    MPI_Bcast(&told, 1, MPI_INT, root, comm);
    CHECK(told == turn * 10 + thread, "thread %d, turn %d: Bcast gave %d", thread, turn, told);
    MPI_Ibarrier(comm, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    MPI_Wait(&persistent, MPI_STATUS_IGNORE);
    const int ranks = size_ * (size_ - 1) / 2;
    CHECK(sum == size_ * thread + ranks * turn, "thread %d, turn %d: Allreduce_init gave %d", thread, turn,
          sum);
    for (int i = 0; i < length; ++i)
      CHECK(sums[i] == ranks + size_ * (thread * turn + i), "thread %d, turn %d: Iallreduce, word %d", thread,
            turn, i);
    for (int rank = 0; rank < size_ && length > 0; ++rank)
      CHECK(others[rank] == rank + thread * turn, "thread %d, turn %d: Iallgather from %d", thread, turn,
            rank);
  }
  MPI_Request_free(&persistent);
  free(words);
  free(sums);
  free(others);
  return NULL;
}

int main(int argc, char** argv) {
  int level;
  pthread_t threads[kThreads];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  CHECK(level == MPI_THREAD_MULTIPLE, "the library offers thread level %d", level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  for (int i = 0; i < kThreads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, (void*)(size_t)i);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < kThreads; ++i) MPI_Comm_free(&comms[i]);
  MPI_Finalize();
  return 0;
}
