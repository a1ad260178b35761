/* Epochs between fences (MPI 5.0 sections 12.5.1, 12.5.5): with every true assertion, many of them with ranks
 * out of step, two windows at once, stores and puts by turns, and other kinds of synchronization between
 * fences. Any number of ranks. */
#include "window.h"

enum { kEpochs = 6 };

static long* words_of_window(Window* window) {
  return (long*)(void*)window->memory;
}

/* Epochs of puts and of gets by turns, with every assertion that is true of some of them. */
static void test_assertions(Window* window) {
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  long* own = words_of_window(window);
  DO(MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOPUT, window->win));
  for (int turn = 0; turn < 8; ++turn) {
    const int puts = turn % 2;
    const int no_put = turn & 2 ? MPI_MODE_NOPUT : 0;     /* no put to this rank until the next fence */
    const int no_store = turn & 4 ? MPI_MODE_NOSTORE : 0; /* no store here since the last one */
    const long out = 100 * turn + rank_;
    long in = -1;
    own[1] = 1000 + turn;
    DO(MPI_Win_fence(puts ? 0 : no_put, window->win));
    if (puts)
      DO(MPI_Put(&out, 1, MPI_LONG, next, place(window, next, 0), 1, MPI_LONG, window->win));
    else
      DO(MPI_Get(&in, 1, MPI_LONG, next, place(window, next, 8), 1, MPI_LONG, window->win));
    DO(MPI_Win_fence(no_store | no_put, window->win));
    if (puts) CHECK(own[0] == 100 * turn + previous, "turn %d: put %ld", turn, own[0]);
    if (!puts) CHECK(in == 1000 + turn, "turn %d: got %ld", turn, in);
    DO(MPI_Win_fence(no_store | no_put, window->win));
  }
  DO(MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOSUCCEED, window->win));
  /* No operation before or after. */
  DO(MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED | MPI_MODE_NOSTORE | MPI_MODE_NOPUT, window->win));
}

/* A fence completes the operations before it: values move around the ring, one rank per epoch, and every rank
 * is late at times. */
static void test_walk(Window* window) {
  const int next = (rank_ + 1) % size_;
  long* own = words_of_window(window);
  own[0] = 0;
  own[1] = rank_;
  DO(MPI_Win_fence(MPI_MODE_NOPRECEDE, window->win));
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    const int from = epoch % 2, to = 1 - from;
    long value = own[to];
    const long want = (rank_ + size_ * kEpochs - epoch) % size_;
    CHECK(value == want, "epoch %d: %ld is here, not %ld", epoch, value, want);
    if ((epoch + rank_) % 3 == 0) pause_us(500 * rank_);
    DO(MPI_Put(&value, 1, MPI_LONG, next, place(window, next, 8 * from), 1, MPI_LONG, window->win));
    DO(MPI_Win_fence(0, window->win));
  }
  DO(MPI_Win_fence(MPI_MODE_NOSUCCEED, window->win));
  MPI_Barrier(MPI_COMM_WORLD);
}

/* All ranks accumulate on rank 0 and on each other; after a fence one rank stores; after another fence all
 * get. */
static void test_turns(Window* window) {
  const long one = 1;
  long* own = words_of_window(window);
  long in[kRanksMax];
  own[0] = 0;
  own[2] = 0;
  DO(MPI_Win_fence(0, window->win));
  for (int epoch = 1; epoch <= kEpochs; ++epoch) {
    for (int target = 0; target < size_; ++target) {
      DO(MPI_Accumulate(&one, 1, MPI_LONG, target, place(window, target, 0), 1, MPI_LONG, MPI_SUM,
                        window->win));
      DO(MPI_Get(&in[target], 1, MPI_LONG, target, place(window, target, 16), 1, MPI_LONG, window->win));
    }
    DO(MPI_Win_fence(0, window->win));
    CHECK(own[0] == (long)epoch * size_, "epoch %d: the sum is %ld", epoch, own[0]);
    for (int target = 0; target < size_; ++target) {
      const long want = epoch == 1 ? 0 : 10 * (epoch - 1) + target;
      CHECK(in[target] == want, "epoch %d: rank %d stored %ld, not %ld", epoch, target, in[target], want);
    }
    own[2] = 10 * epoch + rank_;
    DO(MPI_Win_fence(0, window->win));
  }
  DO(MPI_Win_fence(MPI_MODE_NOSUCCEED, window->win));
}

/* Locks and posts between fences that end and begin epochs. */
static void test_mixed(Window* window) {
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  long* own = words_of_window(window);
  for (int turn = 0; turn < 3; ++turn) {
    for (Form form = kFence; form < kForms; ++form) {
      const long out = 1000 * turn + 100 * (long)form + rank_;
      epoch_begin(window, form);
      DO(MPI_Put(&out, 1, MPI_LONG, next, place(window, next, 8 * (MPI_Aint)form), 1, MPI_LONG, window->win));
      epoch_end(window, form);
      const long want = 1000 * turn + 100 * (long)form + previous;
      CHECK(own[form] == want, "%s, turn %d: %ld, not %ld", form_names_[form], turn, own[form], want);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
}

/* Two windows whose epochs begin and end separately; no put in the next epoch goes to memory that this rank
 * reads. */
static void test_two_windows(Window* window) {
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  long* other_memory = calloc(16, sizeof(long));
  long* own = words_of_window(window);
  MPI_Comm reversed;
  MPI_Win other;
  DO(MPI_Comm_split(MPI_COMM_WORLD, 0, size_ - rank_, &reversed));
  DO(MPI_Win_create(other_memory, 16 * sizeof(long), sizeof(long), MPI_INFO_NULL, reversed, &other));
  DO(MPI_Comm_free(&reversed)); /* the window stays */
  DO(MPI_Win_fence(0, window->win));
  DO(MPI_Win_fence(0, other));
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    const long out = 50 * epoch + rank_;
    DO(MPI_Put(&out, 1, MPI_LONG, next, place(window, next, 8 * (epoch % 2)), 1, MPI_LONG, window->win));
    DO(MPI_Put(&out, 1, MPI_LONG, size_ - 1 - next, epoch % 16, 1, MPI_LONG, other)); /* the same process */
    if (epoch % 2 == rank_ % 2) pause_us(200);
    DO(MPI_Win_fence(0, other));
    CHECK(other_memory[epoch % 16] == 50 * epoch + previous, "epoch %d: the other window has %ld", epoch,
          other_memory[epoch % 16]);
    DO(MPI_Win_fence(0, window->win));
    CHECK(own[epoch % 2] == 50 * epoch + previous, "epoch %d: the window has %ld", epoch, own[epoch % 2]);
  }
  DO(MPI_Win_fence(MPI_MODE_NOSUCCEED, window->win));
  DO(MPI_Win_fence(MPI_MODE_NOSUCCEED, other));
  DO(MPI_Win_free(&other));
  free(other_memory);
}

/* Each half of the ranks has its own window. */
static void test_part(void) {
  MPI_Comm half;
  MPI_Win win;
  int* memory;
  int rank, count;
  DO(MPI_Comm_split(MPI_COMM_WORLD, rank_ % 2, 0, &half));
  MPI_Comm_rank(half, &rank);
  MPI_Comm_size(half, &count);
  DO(MPI_Win_allocate(count * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, half, &memory, &win));
  for (int i = 0; i < count; ++i) memory[i] = -1;
  DO(MPI_Win_fence(0, win));
  for (int i = 0; i < count; ++i) DO(MPI_Put(&rank_, 1, MPI_INT, i, rank, 1, MPI_INT, win));
  DO(MPI_Win_fence(0, win));
  for (int i = 0; i < count; ++i) CHECK(memory[i] == 2 * i + rank_ % 2, "number %d is %d", i, memory[i]);
  DO(MPI_Win_free(&win)); /* after a fence that opened an epoch without operations */
  MPI_Comm_free(&half);
}

static void test_kinds(Window* window) {
  test_assertions(window);
  test_walk(window);
  test_turns(window);
  test_mixed(window);
  test_two_windows(window);
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  for (Kind kind = kOnStatic; kind < kKinds; ++kind) with_window(kind, 4096, 0, test_kinds);
  test_part();
  MPI_Finalize();
  return 0;
}
