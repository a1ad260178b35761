/* One-sided communication in all kinds of epochs. */
#include <string.h>

#include "steps.h"

enum { kInts = 64 };

typedef struct Window {
  MPI_Win win;
  int* base;
  int own[kInts]; /* not in shared memory: reached by messages only */
} Window;

static void open_window(Window* window) {
  memset(window->own, 0, sizeof window->own);
  if (draw(3) == 0) {
    MPI_Win_create(window->own, sizeof window->own, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window->win);
    window->base = window->own;
  } else {
    MPI_Win_allocate(kInts * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window->base,
                     &window->win);
    memset(window->base, 0, kInts * sizeof(int));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void put(Window* window, int target) {
  MPI_Put(&rank_, 1, MPI_INT, target, rank_, 1, MPI_INT, window->win);
}

static void add(Window* window, int target) {
  MPI_Accumulate(&rank_, 1, MPI_INT, target, size_, 1, MPI_INT, MPI_SUM, window->win);
}

void step_fence(const Late* late) {
  Window window;
  open_window(&window);
  MPI_Win_fence(0, window.win);
  put(&window, (rank_ + 1) % size_);
  be_late(late);
  MPI_Win_fence(0, window.win);
  add(&window, draw(size_));
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win);
  MPI_Win_free(&window.win);
}

/* Each rank accesses the next one; the late rank is late before, in or after its epoch. */
void step_post_start(const Late* late) {
  Window window;
  MPI_Group world, next, last;
  const int place = draw(4), to = (rank_ + 1) % size_, from = (rank_ + size_ - 1) % size_;
  open_window(&window);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &to, &next);
  MPI_Group_incl(world, 1, &from, &last);
  if (place == 0) be_late(late);
  MPI_Win_post(last, 0, window.win);
  if (place == 1) be_late(late);
  MPI_Win_start(next, 0, window.win);
  put(&window, to);
  if (place == 2) be_late(late);
  MPI_Win_complete(window.win);
  if (place == 3) be_late(late);
  MPI_Win_wait(window.win);
  MPI_Group_free(&world);
  MPI_Group_free(&next);
  MPI_Group_free(&last);
  MPI_Win_free(&window.win);
}

/* All ranks request the same lock; the late rank holds it for long, or requests it late. */
void step_exclusive_locks(const Late* late) {
  Window window;
  const int target = draw(size_), holds = draw(3) != 0, first = draw(2);
  open_window(&window);
  if (holds && first && rank_ == late->rank) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window.win);
  if (first) MPI_Barrier(MPI_COMM_WORLD);
  if (!holds) be_late(late);
  if (!(holds && first && rank_ == late->rank)) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window.win);
  if (holds) be_late(late);
  put(&window, target);
  MPI_Win_unlock(target, window.win);
  MPI_Win_free(&window.win);
}

/* Readers with a shared lock and one writer; the writer may be the late rank. */
void step_shared_locks(const Late* late) {
  Window window;
  const int target = draw(size_), writer = draw(size_), turns = 1 + draw(3);
  int value;
  open_window(&window);
  for (int turn = 0; turn < turns; ++turn) {
    MPI_Win_lock(rank_ == writer ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, window.win);
    if (turn == 0) be_late(late);
    if (rank_ == writer) {
      put(&window, target);
      MPI_Win_flush(target, window.win);
    } else {
      MPI_Get(&value, 1, MPI_INT, target, writer, 1, MPI_INT, window.win);
      MPI_Win_flush_local(target, window.win);
    }
    MPI_Win_unlock(target, window.win);
  }
  MPI_Win_free(&window.win);
}

/* All ranks lock all; the late rank keeps its epoch open while another one requests an exclusive lock. */
void step_lock_all(const Late* late) {
  Window window;
  const int writer = draw(size_), target = draw(size_);
  int value = 0;
  open_window(&window);
  MPI_Win_lock_all(0, window.win);
  for (int to = 0; to < size_; ++to) add(&window, to);
  MPI_Win_flush_all(window.win);
  MPI_Fetch_and_op(&rank_, &value, MPI_INT, target, size_ + 1, MPI_SUM, window.win);
  MPI_Win_flush(target, window.win);
  be_late(late);
  MPI_Win_unlock_all(window.win);
  if (rank_ == writer) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window.win);
    put(&window, target);
    MPI_Win_unlock(target, window.win);
  }
  MPI_Win_free(&window.win);
}
