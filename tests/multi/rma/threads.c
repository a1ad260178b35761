/* Several threads of each rank access windows of other ranks at once (MPI 5.0 sections 11.6, 12.5.3,
 * 12.5.4): counters, puts to separate places with flushes, requests, locks of different windows. Any number
 * of ranks. */
#include "window.h"

#include "../threads/crew.h"

enum { kThreads = 4, kTurns = 50 };

static Window* window_;
static long tickets_[kThreads][kTurns];

/* The position of a thread's word in every rank's window; word 0 is a counter. */
static MPI_Aint word(int rank, int thread) {
  return 8 * (1 + (MPI_Aint)rank * kThreads + thread);
}

static void count(int thread) {
  const long one = 1;
  for (int turn = 0; turn < kTurns; ++turn) {
    DO(MPI_Fetch_and_op(&one, &tickets_[thread][turn], MPI_LONG, 0, place(window_, 0, 0), MPI_SUM,
                        window_->win));
    DO(MPI_Win_flush(0, window_->win));
    CHECK(turn == 0 || tickets_[thread][turn] > tickets_[thread][turn - 1], "ticket %ld after %ld",
          tickets_[thread][turn], tickets_[thread][turn - 1]);
  }
}

static void put_and_get(int thread) {
  for (int turn = 0; turn < kTurns; ++turn) {
    const int target = (rank_ + turn + thread) % size_;
    const MPI_Aint at = place(window_, target, word(rank_, thread));
    const long out = 1000 * turn + 10 * rank_ + thread;
    long in = -1;
    DO(MPI_Put(&out, 1, MPI_LONG, target, at, 1, MPI_LONG, window_->win));
    if (turn % 2) DO(MPI_Win_flush(target, window_->win));
    if (turn % 2 == 0) DO(MPI_Win_flush_all(window_->win));
    DO(MPI_Get(&in, 1, MPI_LONG, target, at, 1, MPI_LONG, window_->win));
    if (turn % 3) DO(MPI_Win_flush_local(target, window_->win));
    if (turn % 3 == 0) DO(MPI_Win_flush_local_all(window_->win));
    CHECK(in == out, "thread %d, turn %d: put %ld, got %ld", thread, turn, out, in);
  }
}

static void with_requests(int thread) {
  for (int turn = 0; turn < kTurns; ++turn) {
    const int target = (rank_ + turn + thread) % size_;
    const MPI_Aint at = place(window_, target, word(rank_, thread));
    const long out = -(1000 * turn + 10 * rank_ + thread), one = 1;
    long in = -1, was = -1;
    MPI_Request requests[2];
    DO(MPI_Rput(&out, 1, MPI_LONG, target, at, 1, MPI_LONG, window_->win, &requests[0]));
    DO(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    DO(MPI_Win_flush(target, window_->win));
    DO(MPI_Rget_accumulate(&one, 1, MPI_LONG, &was, 1, MPI_LONG, target, at, 1, MPI_LONG, MPI_SUM,
                           window_->win, &requests[0]));
    DO(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    CHECK(was == out, "thread %d, turn %d: put %ld, fetched %ld", thread, turn, out, was);
    DO(MPI_Win_flush(target, window_->win));
    DO(MPI_Rget(&in, 1, MPI_LONG, target, at, 1, MPI_LONG, window_->win, &requests[0]));
    DO(MPI_Raccumulate(&one, 1, MPI_LONG, 0, place(window_, 0, 0), 1, MPI_LONG, MPI_SUM, window_->win,
                       &requests[1]));
    DO(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(in == out + 1, "thread %d, turn %d: %ld, not %ld", thread, turn, in, out + 1);
  }
}

static void test_one_window(Window* window) {
  static long all[kRanksMax * kThreads * kTurns], seen[kRanksMax * kThreads * kTurns];
  window_ = window;
  DO(MPI_Win_lock_all(0, window->win));
  crew_run(kThreads, count);
  crew_run(kThreads, put_and_get);
  crew_run(kThreads, with_requests);
  DO(MPI_Win_unlock_all(window->win));
  DO(MPI_Allgather(tickets_, kThreads * kTurns, MPI_LONG, all, kThreads * kTurns, MPI_LONG, MPI_COMM_WORLD));
  memset(seen, 0, sizeof seen);
  const long whole = (long)size_ * kThreads * kTurns;
  for (long i = 0; i < whole; ++i) {
    CHECK(all[i] >= 0 && all[i] < 2 * whole, "a ticket is %ld", all[i]);
    if (all[i] < whole) CHECK(++seen[all[i]] == 1, "two have ticket %ld", all[i]);
  }
  own_begin(window);
  const long* own = (const long*)(const void*)window->memory;
  if (rank_ == 0) CHECK(own[0] == 2 * whole, "counted to %ld, not %ld", own[0], 2 * whole);
  own_end(window);
}

/* One window per thread, with its own locks. */
static MPI_Win own_windows_[kThreads];
static long* own_memories_[kThreads];

static void lock_own(int thread) {
  const int next = (rank_ + 1) % size_;
  for (int turn = 0; turn < kTurns; ++turn) {
    long value = -1;
    DO(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, own_windows_[thread]));
    DO(MPI_Get(&value, 1, MPI_LONG, next, 0, 1, MPI_LONG, own_windows_[thread]));
    DO(MPI_Win_flush(next, own_windows_[thread]));
    CHECK(value == 5 * turn + thread, "thread %d, turn %d: got %ld", thread, turn, value);
    value += 5;
    DO(MPI_Put(&value, 1, MPI_LONG, next, 0, 1, MPI_LONG, own_windows_[thread]));
    DO(MPI_Win_unlock(next, own_windows_[thread]));
  }
}

int main(int argc, char** argv) {
  crew_init(&argc, &argv);
  static const Kind kinds[] = {kOnHeap, kAllocate, kShared, kDynamic};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i)
    with_window(kinds[i], word(size_, 0), 0, test_one_window);
  for (int i = 0; i < kThreads; ++i) {
    DO(MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &own_memories_[i],
                        &own_windows_[i]));
    *own_memories_[i] = i;
  }
  DO(MPI_Barrier(MPI_COMM_WORLD));
  crew_run(kThreads, lock_own);
  DO(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < kThreads; ++i) DO(MPI_Win_free(&own_windows_[i]));
  MPI_Finalize();
  return 0;
}
