/* Threads that are in several MPI calls at the same time, or asleep while another one waits in MPI. */
#include <pthread.h>

#include "steps.h"

enum { kThreads = 3 };

typedef struct Work {
  const Late* late;
  MPI_Comm comm;
  MPI_Win win;
  int number;
  int kind;
} Work;

static void on_threads(void* (*run)(void*), const Late* late, MPI_Win win, int kind) {
  pthread_t threads[kThreads];
  Work works[kThreads];
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int i = 0; i < kThreads; ++i) {
    works[i] = (Work){late, comm, win, i, kind};
    pthread_create(&threads[i], NULL, run, &works[i]);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  MPI_Comm_free(&comm);
}

/* Each thread exchanges around the circle with the same thread of the neighbours; one thread of the late rank
 * is late. */
static void* exchange(void* argument) {
  const Work* work = argument;
  int out = rank_, in = -1;
  if (work->number == 1) be_late(work->late);
  for (int turn = 0; turn < 5; ++turn) {
    MPI_Sendrecv(&out, 1, MPI_INT, (rank_ + 1) % size_, work->number, &in, 1, MPI_INT,
                 (rank_ + size_ - 1) % size_, work->number, work->comm, MPI_STATUS_IGNORE);
  }
  return NULL;
}

void step_threads_exchange(const Late* late) {
  on_threads(exchange, late, MPI_WIN_NULL, 0);
}

/* Thread 0 of an even rank waits for the answer to a message that its thread 1 sends, possibly late. */
static void* relay(void* argument) {
  const Work* work = argument;
  const int partner = rank_ ^ 1, asks = rank_ % 2 == 0;
  int value = rank_;
  if (partner >= size_ || work->number == 2) return NULL;
  if (work->number == 1) {
    be_late(work->late);
    if (asks) MPI_Send(&value, 1, MPI_INT, partner, 7, work->comm);
  } else if (asks) {
    MPI_Recv(&value, 1, MPI_INT, partner, 8, work->comm, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(&value, 1, MPI_INT, partner, 7, work->comm, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_INT, partner, 8, work->comm);
  }
  return NULL;
}

void step_threads_relay(const Late* late) {
  on_threads(relay, late, MPI_WIN_NULL, 0);
}

/* One thread locks a window and may be late while it holds the lock; one receives; one is in a collective. */
static void* lock(void* argument) {
  const Work* work = argument;
  int value = rank_;
  if (work->number == 0) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, work->kind, 0, work->win);
    MPI_Put(&value, 1, MPI_INT, work->kind, rank_, 1, MPI_INT, work->win);
    be_late(work->late);
    MPI_Win_unlock(work->kind, work->win);
    MPI_Send(&value, 1, MPI_INT, (rank_ + 1) % size_, 9, work->comm);
  } else if (work->number == 1) {
    MPI_Recv(&value, 1, MPI_INT, (rank_ + size_ - 1) % size_, 9, work->comm, MPI_STATUS_IGNORE);
  } else {
    MPI_Barrier(work->comm);
  }
  return NULL;
}

void step_threads_lock(const Late* late) {
  MPI_Win win;
  int* base;
  MPI_Win_allocate(256, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  MPI_Barrier(MPI_COMM_WORLD);
  on_threads(lock, late, win, draw(size_));
  MPI_Win_free(&win);
}
