/* Epochs between groups of ranks: post, start, complete, wait and test (MPI 5.0 sections 12.5.2, 12.5.5).
 * Rings, all with all, one with many, groups that differ on every rank, empty groups, epochs without
 * operations, ranks out of step. Any number of ranks. */
#include "window.h"

enum { kEpochs = 6 };

static long* own_;

static MPI_Group group_of(int count, const int* ranks) {
  MPI_Group all, some;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, count, ranks, &some);
  MPI_Group_free(&all);
  return some;
}

static void put(Window* window, int target, int slot, long value) {
  static long out[kRanksMax]; /* must stay unchanged until the epoch ends */
  out[target] = value;
  DO(MPI_Put(&out[target], 1, MPI_LONG, target, place(window, target, 8 * slot), 1, MPI_LONG, window->win));
}

/* Ends an exposure epoch to `count` origins by either call. */
static void wait_for_all(Window* window, int by_test, int count) {
  int over = 0;
  if (count == 0 && !promised()) by_test = 0; /* Open MPI 5.0.11's MPI_Win_test then never succeeds */
  if (!by_test) DO(MPI_Win_wait(window->win));
  while (by_test && !over) DO(MPI_Win_test(window->win, &over));
}

/* Each rank exposes its window to the previous rank and accesses the next one; which rank is late varies. */
static void test_ring(Window* window) {
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  MPI_Group to = group_of(1, &next), from = group_of(1, &previous);
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    own_[0] = -1;
    if (epoch % 3 == 1) pause_us(300 * ((rank_ + epoch) % 3));
    DO(MPI_Win_post(from, epoch % 4 == 2 ? MPI_MODE_NOSTORE : 0, window->win));
    DO(MPI_Win_start(to, 0, window->win));
    put(window, next, 0, 100 * epoch + rank_);
    if (epoch % 3 == 2) pause_us(300 * ((rank_ + epoch) % 3));
    DO(MPI_Win_complete(window->win));
    wait_for_all(window, epoch % 2, 1);
    CHECK(own_[0] == 100 * epoch + previous, "epoch %d: %ld", epoch, own_[0]);
  }
  MPI_Group_free(&to);
  MPI_Group_free(&from);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* All with all, several operations each, and gets in return. */
static void test_all(Window* window) {
  int ranks[kRanksMax];
  long in[kRanksMax];
  for (int i = 0; i < size_; ++i) ranks[i] = (i + rank_) % size_;
  MPI_Group all = group_of(size_, ranks);
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    DO(MPI_Win_post(all, 0, window->win));
    DO(MPI_Win_start(all, 0, window->win));
    for (int i = 0; i < size_; ++i) put(window, ranks[i], rank_, 1000 * epoch + 10 * rank_ + ranks[i]);
    DO(MPI_Win_complete(window->win));
    wait_for_all(window, epoch % 2, size_);
    for (int i = 0; i < size_; ++i)
      CHECK(own_[i] == 1000 * epoch + 10 * i + rank_, "epoch %d: of rank %d: %ld", epoch, i, own_[i]);
    DO(MPI_Win_post(all, MPI_MODE_NOPUT | MPI_MODE_NOSTORE, window->win));
    DO(MPI_Win_start(all, 0, window->win));
    for (int i = 0; i < size_; ++i)
      DO(MPI_Get(&in[i], 1, MPI_LONG, i, place(window, i, 8 * (MPI_Aint)rank_), 1, MPI_LONG, window->win));
    DO(MPI_Win_complete(window->win));
    for (int i = 0; i < size_; ++i)
      CHECK(in[i] == 1000 * epoch + 10 * rank_ + i, "epoch %d: from rank %d: %ld", epoch, i, in[i]);
    wait_for_all(window, 1 - epoch % 2, size_);
  }
  MPI_Group_free(&all);
}

/* One exposure epoch with several access epochs one after another: rank 0 exposes its window to all other
 * ranks, or all other ranks to rank 0. */
static void test_one_with_many(Window* window) {
  int others[kRanksMax];
  const int zero = 0;
  for (int i = 1; i < size_; ++i) others[i - 1] = i;
  MPI_Group rest = group_of(size_ - 1, others), first = group_of(1, &zero);
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    /* Many to one. */
    if (rank_ == 0) {
      DO(MPI_Win_post(rest, 0, window->win));
      wait_for_all(window, epoch % 2, size_ - 1);
      for (int i = 1; i < size_; ++i)
        CHECK(own_[i] == 7 * epoch + i, "epoch %d: of %d: %ld", epoch, i, own_[i]);
    } else {
      if (epoch % 2) pause_us(200 * rank_);
      DO(MPI_Win_start(first, 0, window->win));
      put(window, 0, rank_, 7 * epoch + rank_);
      DO(MPI_Win_complete(window->win));
    }
    /* One to many. */
    if (rank_ == 0) {
      DO(MPI_Win_start(rest, 0, window->win));
      for (int i = 1; i < size_; ++i) put(window, i, 0, 9 * epoch + i);
      DO(MPI_Win_complete(window->win));
    } else {
      DO(MPI_Win_post(first, 0, window->win));
      wait_for_all(window, epoch % 3 == 0, 1);
      CHECK(own_[0] == 9 * epoch + rank_, "epoch %d: of rank 0: %ld", epoch, own_[0]);
    }
  }
  MPI_Group_free(&rest);
  MPI_Group_free(&first);
}

/* Whether rank a accesses rank b in this epoch: a pattern that all ranks know. */
static int reaches(int a, int b, int epoch) {
  return (a * 7 + b * 5 + a * b + epoch * 3) % 5 < 2;
}

/* Groups that differ on every rank, some empty; some of the possible origins do nothing. */
static void test_patterns(Window* window) {
  for (int epoch = 0; epoch < 2 * kEpochs; ++epoch) {
    /* MPICH 5.0.2 and Intel MPI only count posts, so an early post is taken for one that is still missing. */
    if (!promised()) MPI_Barrier(MPI_COMM_WORLD);
    int to[kRanksMax], from[kRanksMax], tos = 0, froms = 0;
    for (int i = 0; i < size_; ++i) {
      if (reaches(rank_, i, epoch)) to[tos++] = i;
      if (reaches(i, rank_, epoch)) from[froms++] = i;
      own_[i] = -1;
    }
    MPI_Group targets = group_of(tos, to), origins = group_of(froms, from);
    DO(MPI_Win_post(origins, 0, window->win));
    DO(MPI_Win_start(targets, 0, window->win));
    MPI_Group_free(&origins); /* the window still uses them */
    for (int i = 0; i < tos; ++i)
      if ((to[i] + epoch) % 4 != 0) put(window, to[i], rank_, 10 * epoch + rank_);
    MPI_Group_free(&targets);
    DO(MPI_Win_complete(window->win));
    wait_for_all(window, epoch % 2, froms);
    for (int i = 0; i < size_; ++i) {
      const long want = reaches(i, rank_, epoch) && (rank_ + epoch) % 4 != 0 ? 10 * epoch + i : -1;
      CHECK(own_[i] == want, "epoch %d: of rank %d: %ld, not %ld", epoch, i, own_[i], want);
    }
  }
}

/* With MPI_MODE_NOCHECK on both sides, an origin that knows of the post does not wait for it. */
static void test_no_check(Window* window) {
  if (!promised()) return; /* Open MPI 5.0.11 then no longer waits for the data either */
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  MPI_Group to = group_of(1, &next), from = group_of(1, &previous);
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    DO(MPI_Win_post(from, MPI_MODE_NOCHECK, window->win));
    MPI_Barrier(MPI_COMM_WORLD);
    DO(MPI_Win_start(to, MPI_MODE_NOCHECK, window->win));
    put(window, next, 2, 30 * epoch + rank_);
    DO(MPI_Win_complete(window->win));
    wait_for_all(window, epoch % 2, 1);
    CHECK(own_[2] == 30 * epoch + previous, "epoch %d: %ld", epoch, own_[2]);
  }
  MPI_Group_free(&to);
  MPI_Group_free(&from);
}

/* Empty groups: nothing to wait for, twice. */
static void test_nobody(Window* window) {
  for (int turn = 0; turn < 3; ++turn) {
    DO(MPI_Win_start(MPI_GROUP_EMPTY, 0, window->win));
    DO(MPI_Win_complete(window->win));
    DO(MPI_Win_post(MPI_GROUP_EMPTY, 0, window->win));
    DO(MPI_Win_wait(window->win));
    DO(MPI_Win_post(MPI_GROUP_EMPTY, 0, window->win));
    wait_for_all(window, 1, 0);
  }
}

/* MPI_Win_test returns false until the origin has completed. MPI_Win_start, or a call in its epoch, waits for
 * the post: a token shows the order. */
static void test_not_yet(Window* window) {
  if (size_ < 2 || rank_ > 1) return;
  const int other = 1 - rank_;
  MPI_Group group = group_of(1, &other);
  if (rank_ == 0) {
    int over = 1;
    own_[5] = -1;
    pause_us(2000);
    DO(MPI_Win_post(group, 0, window->win));
    for (int i = 0; i < 20; ++i) {
      DO(MPI_Win_test(window->win, &over));
      CHECK(!over, "over before the origin has completed");
    }
    DO(MPI_Send(NULL, 0, MPI_INT, 1, 1, MPI_COMM_WORLD));
    wait_for_all(window, 1, 1);
    CHECK(own_[5] == 55, "%ld", own_[5]);
  } else {
    DO(MPI_Win_start(group, 0, window->win));
    put(window, 0, 5, 55);
    DO(MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    DO(MPI_Win_complete(window->win));
  }
  MPI_Group_free(&group);
}

/* Sums of all ranks in one rank's memory, while that rank has an access epoch of its own. */
static void test_sums(Window* window) {
  int ranks[kRanksMax];
  const long one = 1;
  for (int i = 0; i < size_; ++i) ranks[i] = i;
  MPI_Group all = group_of(size_, ranks);
  own_[0] = 0;
  for (int epoch = 1; epoch <= kEpochs; ++epoch) {
    DO(MPI_Win_post(all, 0, window->win));
    DO(MPI_Win_start(all, 0, window->win));
    for (int i = 0; i < size_; ++i)
      DO(MPI_Accumulate(&one, 1, MPI_LONG, i, place(window, i, 0), 1, MPI_LONG, MPI_SUM, window->win));
    DO(MPI_Win_complete(window->win));
    DO(MPI_Win_wait(window->win));
    CHECK(own_[0] == (long)epoch * size_, "epoch %d: the sum is %ld", epoch, own_[0]);
  }
  MPI_Group_free(&all);
}

static void test_kinds(Window* window) {
  own_ = (long*)(void*)window->memory;
  test_ring(window);
  test_all(window);
  test_one_with_many(window);
  test_patterns(window);
  test_no_check(window);
  test_nobody(window);
  MPI_Barrier(MPI_COMM_WORLD);
  test_not_yet(window);
  MPI_Barrier(MPI_COMM_WORLD);
  test_sums(window);
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  for (Kind kind = kOnStatic; kind < kKinds; ++kind) with_window(kind, 4096, 0, test_kinds);
  MPI_Finalize();
  return 0;
}
