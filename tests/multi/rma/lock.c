/* Passive target (MPI 5.0 sections 12.5.3, 12.5.4, 12.7): shared and exclusive locks, lock_all, all flushes,
 * atomicity, and progress at a target that calls MPI only at the end. Any number of ranks. */
#include "window.h"

enum { kTurns = 500 };

static long* own_;
static int turns_ = kTurns;

/* An exclusive lock excludes other ranks: a counter that is read and written in two steps loses no
 * increment. */
static void test_exclusive(Window* window) {
  for (int turn = 0; turn < turns_; ++turn) {
    long count = -1;
    DO(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window->win));
    DO(MPI_Get(&count, 1, MPI_LONG, 0, place(window, 0, 0), 1, MPI_LONG, window->win));
    DO(MPI_Win_flush(0, window->win));
    ++count;
    DO(MPI_Put(&count, 1, MPI_LONG, 0, place(window, 0, 0), 1, MPI_LONG, window->win));
    DO(MPI_Win_unlock(0, window->win));
  }
  DO(MPI_Barrier(MPI_COMM_WORLD));
  if (rank_ == 0) {
    DO(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window->win));
    CHECK(own_[0] == (long)turns_ * size_, "%d ranks counted to %ld", size_, own_[0]);
    own_[0] = 0;
    DO(MPI_Win_unlock(0, window->win));
  }
  DO(MPI_Barrier(MPI_COMM_WORLD));
}

/* A reader with a shared lock sees both or neither of two numbers that are changed under an exclusive
 * lock. */
static void test_readers(Window* window) {
  const int target = size_ - 1, turns = turns_ / 10;
  for (int turn = 1; turn <= turns; ++turn) {
    long pair[2] = {-1, -2};
    if ((turn + rank_) % 3 == 0) {
      pair[0] = pair[1] = 1000 * turn + rank_;
      DO(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window->win));
      DO(MPI_Put(&pair[0], 1, MPI_LONG, target, place(window, target, 0), 1, MPI_LONG, window->win));
      DO(MPI_Win_flush(target, window->win));
      DO(MPI_Put(&pair[1], 1, MPI_LONG, target, place(window, target, 8), 1, MPI_LONG, window->win));
      DO(MPI_Win_unlock(target, window->win));
    } else {
      DO(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window->win));
      DO(MPI_Get(&pair[0], 1, MPI_LONG, target, place(window, target, 0), 1, MPI_LONG, window->win));
      DO(MPI_Win_flush_local(target, window->win));
      DO(MPI_Get(&pair[1], 1, MPI_LONG, target, place(window, target, 8), 1, MPI_LONG, window->win));
      DO(MPI_Win_unlock(target, window->win));
      CHECK(pair[0] == pair[1], "turn %d: %ld and %ld", turn, pair[0], pair[1]);
    }
  }
  DO(MPI_Barrier(MPI_COMM_WORLD));
  own_begin(window);
  own_[0] = own_[1] = 0;
  own_end(window);
}

/* Two ranks hold a shared lock at the same time: each waits for the other while it holds the lock. */
static void test_shared_together(Window* window) {
  if (size_ < 2) return;
  DO(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window->win));
  DO(MPI_Barrier(MPI_COMM_WORLD));
  DO(MPI_Win_unlock(0, window->win));
  DO(MPI_Win_lock_all(0, window->win));
  DO(MPI_Barrier(MPI_COMM_WORLD));
  DO(MPI_Win_unlock_all(window->win));
  /* Exclusive locks of different targets likewise; no other rank requests them, which MPI_MODE_NOCHECK
   * asserts once. */
  const int next = (rank_ + 1) % size_;
  for (int turn = 0; turn < 2; ++turn) {
    /* With MPICH 5.0.2 no rank can get a lock that was taken before with MPI_MODE_NOCHECK. */
    DO(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, turn > 0 && promised() ? MPI_MODE_NOCHECK : 0, window->win));
    DO(MPI_Barrier(MPI_COMM_WORLD));
    DO(MPI_Win_unlock(next, window->win));
    DO(MPI_Barrier(MPI_COMM_WORLD));
  }
}

/* Each flush completes the operations before it, at the target or at the origin only, within one epoch. */
static void test_flushes(Window* window) {
  const int next = (rank_ + 1) % size_, after = (rank_ + 2) % size_, previous = (rank_ + size_ - 1) % size_;
  long out[2], in = -1;
  DO(MPI_Win_lock_all(rank_ % 2 ? 0 : MPI_MODE_NOCHECK, window->win)); /* no rank locks exclusively */
  for (int turn = 1; turn <= 20; ++turn) {
    const int mine = 8 * (turn % 2);
    out[0] = 10 * turn + rank_;
    DO(MPI_Put(&out[0], 1, MPI_LONG, next, place(window, next, mine), 1, MPI_LONG, window->win));
    if (turn % 4 == 0) DO(MPI_Win_flush(next, window->win));
    if (turn % 4 == 1) DO(MPI_Win_flush_all(window->win));
    if (turn % 4 == 2) DO(MPI_Win_flush_local(next, window->win));
    if (turn % 4 == 3) DO(MPI_Win_flush_local_all(window->win));
    out[0] = -100; /* the put no longer reads it */
    if (turn % 4 >= 2) DO(MPI_Win_flush(next, window->win));
    DO(MPI_Barrier(MPI_COMM_WORLD));
    DO(MPI_Win_sync(window->win));
    CHECK(own_[turn % 2] == 10 * turn + previous, "turn %d: %ld is here", turn, own_[turn % 2]);
    DO(MPI_Get(&in, 1, MPI_LONG, after, place(window, after, mine), 1, MPI_LONG, window->win));
    if (turn % 2) DO(MPI_Win_flush_local(after, window->win));
    if (turn % 2 == 0) DO(MPI_Win_flush_local_all(window->win));
    CHECK(in == 10 * turn + next, "turn %d: got %ld from rank %d", turn, in, after);
  }
  DO(MPI_Win_unlock_all(window->win));
  DO(MPI_Barrier(MPI_COMM_WORLD));
  own_begin(window);
  own_[0] = own_[1] = 0;
  own_end(window);
}

/* Several locks of different targets at once, unlocked in any order. */
static void test_many_locks(Window* window) {
  long out[kRanksMax];
  for (int turn = 0; turn < 4; ++turn) {
    for (int i = 0; i < size_; ++i) {
      const int target = (rank_ + i) % size_;
      out[target] = 100 * turn + rank_;
      DO(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window->win));
      DO(MPI_Put(&out[target], 1, MPI_LONG, target, place(window, target, 8 * (MPI_Aint)rank_), 1, MPI_LONG,
                 window->win));
    }
    for (int i = size_ - 1; i >= 0; --i) DO(MPI_Win_unlock((rank_ + i) % size_, window->win));
    DO(MPI_Barrier(MPI_COMM_WORLD));
    own_begin(window);
    for (int i = 0; i < size_; ++i) CHECK(own_[i] == 100 * turn + i, "turn %d: %ld of %d", turn, own_[i], i);
    own_end(window);
  }
  own_begin(window);
  memset(own_, 0, sizeof(long) * (size_t)size_);
  own_end(window);
}

static int compare_longs(const void* a, const void* b) {
  const long one = *(const long*)a, other = *(const long*)b;
  return (one > other) - (one < other);
}

/* A shared counter: every rank gets different tickets, and together they are complete. */
static void test_tickets(Window* window) {
  const int turns = turns_ / 5, target = size_ / 2;
  const long one = 1;
  long* mine = malloc(sizeof(long) * (size_t)turns);
  long* all = malloc(sizeof(long) * (size_t)turns * (size_t)size_);
  DO(MPI_Win_lock_all(0, window->win));
  for (int turn = 0; turn < turns; ++turn) {
    if (turn % 2)
      DO(MPI_Fetch_and_op(&one, &mine[turn], MPI_LONG, target, place(window, target, 0), MPI_SUM,
                          window->win));
    else
      DO(MPI_Get_accumulate(&one, 1, MPI_LONG, &mine[turn], 1, MPI_LONG, target, place(window, target, 0), 1,
                            MPI_LONG, MPI_SUM, window->win));
    DO(MPI_Win_flush(target, window->win));
    CHECK(turn == 0 || mine[turn] > mine[turn - 1], "ticket %ld after %ld", mine[turn], mine[turn - 1]);
  }
  DO(MPI_Win_unlock_all(window->win));
  DO(MPI_Allgather(mine, turns, MPI_LONG, all, turns, MPI_LONG, MPI_COMM_WORLD));
  qsort(all, (size_t)turns * (size_t)size_, sizeof(long), compare_longs);
  for (long i = 0; i < (long)turns * size_; ++i) CHECK(all[i] == i, "ticket %ld stands for %ld", all[i], i);
  free(mine);
  free(all);
}

/* A lock made of one word with compare-and-swap; put and get change the data that it protects. */
static void test_spin_lock(Window* window) {
  const int home = size_ - 1, turns = turns_ / 50;
  const MPI_Aint word = place(window, home, 8), guarded = place(window, home, 16);
  const long free_mark = 0, taken = rank_ + 1;
  DO(MPI_Win_lock_all(0, window->win));
  for (int turn = 0; turn < turns; ++turn) {
    long found = -1, value = -1;
    while (found != free_mark) {
      DO(MPI_Compare_and_swap(&taken, &free_mark, &found, MPI_LONG, home, word, window->win));
      DO(MPI_Win_flush(home, window->win));
      CHECK(found != taken, "the lock is held by this rank, which does not have it");
      if (found != free_mark) pause_us(10);
    }
    DO(MPI_Get(&value, 1, MPI_LONG, home, guarded, 1, MPI_LONG, window->win));
    DO(MPI_Win_flush(home, window->win));
    ++value;
    DO(MPI_Put(&value, 1, MPI_LONG, home, guarded, 1, MPI_LONG, window->win));
    DO(MPI_Win_flush(home, window->win));
    DO(MPI_Accumulate(&free_mark, 1, MPI_LONG, home, word, 1, MPI_LONG, MPI_REPLACE, window->win));
    DO(MPI_Win_flush(home, window->win));
  }
  DO(MPI_Win_unlock_all(window->win));
  DO(MPI_Barrier(MPI_COMM_WORLD));
  own_begin(window);
  if (rank_ == home)
    CHECK(own_[1] == 0 && own_[2] == (long)turns * size_, "the lock is %ld, the counter %ld", own_[1],
          own_[2]);
  own_end(window);
}

/* Rank 0 computes, then waits in a barrier, where it serves the other ranks at the latest. */
static void test_progress(Window* window) {
  const long one = 1;
  long sum = -1;
  DO(MPI_Barrier(MPI_COMM_WORLD));
  if (rank_ == 0) {
    const double end = now() + 0.005;
    while (now() < end) continue;
  } else {
    for (int turn = 0; turn < 5; ++turn) {
      DO(MPI_Win_lock(turn % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, window->win));
      DO(MPI_Accumulate(&one, 1, MPI_LONG, 0, place(window, 0, 24), 1, MPI_LONG, MPI_SUM, window->win));
      DO(MPI_Win_flush(0, window->win));
      DO(MPI_Fetch_and_op(NULL, &sum, MPI_LONG, 0, place(window, 0, 24), MPI_NO_OP, window->win));
      DO(MPI_Win_unlock(0, window->win));
      CHECK(sum > turn && sum <= 5L * (size_ - 1), "turn %d: the sum is %ld", turn, sum);
    }
  }
  DO(MPI_Barrier(MPI_COMM_WORLD));
  DO(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window->win));
  DO(MPI_Get(&sum, 1, MPI_LONG, 0, place(window, 0, 24), 1, MPI_LONG, window->win));
  DO(MPI_Win_unlock(0, window->win));
  CHECK(sum == 5L * (size_ - 1), "the sum is %ld", sum);
}

/* Stores of a rank are visible to other ranks after MPI_Win_sync and a message, in both directions. */
static void test_sync(Window* window) {
  const int next = (rank_ + 1) % size_;
  DO(MPI_Win_lock_all(0, window->win));
  for (int turn = 0; turn < 10; ++turn) {
    long in = -1;
    own_[4] = 40 * turn + rank_;
    DO(MPI_Win_sync(window->win));
    DO(MPI_Barrier(MPI_COMM_WORLD));
    DO(MPI_Get(&in, 1, MPI_LONG, next, place(window, next, 32), 1, MPI_LONG, window->win));
    DO(MPI_Win_flush(next, window->win));
    CHECK(in == 40 * turn + next, "turn %d: got %ld", turn, in);
    DO(MPI_Barrier(MPI_COMM_WORLD));
  }
  DO(MPI_Win_unlock_all(window->win));
  DO(MPI_Barrier(MPI_COMM_WORLD));
}

static void test_kinds(Window* window) {
  own_ = (long*)(void*)window->memory;
  turns_ = window->kind == kAllocate ? kTurns : kTurns / 10;
  test_exclusive(window);
  test_readers(window);
  test_shared_together(window);
  test_flushes(window);
  test_many_locks(window);
  test_tickets(window);
  test_spin_lock(window);
  test_progress(window);
  test_sync(window);
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  for (Kind kind = kOnStatic; kind < kKinds; ++kind) with_window(kind, 4096, 0, test_kinds);
  MPI_Finalize();
  return 0;
}
