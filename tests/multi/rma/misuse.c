/* Erroneous uses of windows return the matching error class (MPI 5.0 sections 12.2, 12.3, 12.5, 12.6.2), and
 * the window stays usable. The standard requires no library to detect them: checks for every library come
 * first, Hearth's own guarantees follow promised(). Any number of ranks. */
#include "window.h"

enum { kBytes = 256 };

static MPI_Win win_;
static long memory_[kBytes / sizeof(long)];
static long word_ = 5, other_ = 6;

static void expect_class(int code, int wanted, const char* what) {
  CHECK(class_of(code) == wanted, "%s: class %d (%s), not %d", what, class_of(code), words_of(code), wanted);
}

/* Each of the calls with a target, with this rank and displacement. */
enum { kCalls = 10 };
static const char* const call_names_[kCalls] = {
    "put", "get",  "accumulate", "get_accumulate", "fetch_and_op",
    "cas", "rput", "rget",       "raccumulate",    "rget_accumulate"};

static int call(int which, int target, MPI_Aint place, int count, MPI_Win win) {
  MPI_Request request = MPI_REQUEST_NULL;
  static long in[kBytes], out[kBytes];
  int code = MPI_SUCCESS;
  const MPI_Datatype type = MPI_LONG;
  switch (which) {
    case 0:
      return MPI_Put(out, count, type, target, place, count, type, win);
    case 1:
      return MPI_Get(in, count, type, target, place, count, type, win);
    case 2:
      return MPI_Accumulate(out, count, type, target, place, count, type, MPI_SUM, win);
    case 3:
      return MPI_Get_accumulate(out, count, type, in, count, type, target, place, count, type, MPI_SUM, win);
    case 4:
      return MPI_Fetch_and_op(out, in, type, target, place, MPI_SUM, win);
    case 5:
      return MPI_Compare_and_swap(out, out + 1, in, type, target, place, win);
    case 6:
      code = MPI_Rput(out, count, type, target, place, count, type, win, &request);
      break;
    case 7:
      code = MPI_Rget(in, count, type, target, place, count, type, win, &request);
      break;
    case 8:
      code = MPI_Raccumulate(out, count, type, target, place, count, type, MPI_SUM, win, &request);
      break;
    default:
      code = MPI_Rget_accumulate(out, count, type, in, count, type, target, place, count, type, MPI_SUM, win,
                                 &request);
  }
  if (code == MPI_SUCCESS) MPI_Wait(&request, MPI_STATUS_IGNORE);
  return code;
}

/* The window still works: each rank puts into the next one's memory. */
static void expect_unharmed(const char* after) {
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  const long value = 100 + rank_;
  DO(MPI_Barrier(MPI_COMM_WORLD));
  DO(MPI_Win_fence(MPI_MODE_NOPRECEDE, win_));
  DO(MPI_Put(&value, 1, MPI_LONG, next, 0, 1, MPI_LONG, win_));
  DO(MPI_Win_fence(MPI_MODE_NOSUCCEED, win_));
  CHECK(memory_[0] == 100 + previous, "after %s the window carries %ld", after, memory_[0]);
  for (size_t i = 1; i < kBytes / sizeof(long); ++i)
    CHECK(memory_[i] == 0, "%s wrote word %d", after, (int)i);
  DO(MPI_Barrier(MPI_COMM_WORLD));
}

static void test_targets(void) {
  DO(MPI_Win_lock_all(0, win_));
  for (int which = 0; which < kCalls; ++which) {
    expect_class(call(which, size_, 0, 1, win_), MPI_ERR_RANK, call_names_[which]);
    expect_class(call(which, -77, 0, 1, win_), MPI_ERR_RANK, call_names_[which]);
    if (which != 4 && which != 5)
      expect_class(call(which, rank_, 0, -1, win_), MPI_ERR_COUNT, call_names_[which]);
  }
  expect_class(MPI_Put(&word_, 1, MPI_DATATYPE_NULL, rank_, 0, 1, MPI_LONG, win_), MPI_ERR_TYPE,
               "a null datatype");
  DO(MPI_Win_unlock_all(win_));
  expect_class(MPI_Win_lock(MPI_LOCK_SHARED, size_, 0, win_), MPI_ERR_RANK,
               "a lock of a rank that does not exist");
  expect_unharmed("ranks that are none");
}

static void test_null_window(void) {
  MPI_Win none = MPI_WIN_NULL;
  void* value;
  int flag;
  for (int which = 0; which < kCalls; ++which)
    expect_class(call(which, 0, 0, 1, none), MPI_ERR_WIN, call_names_[which]);
  expect_class(MPI_Win_fence(0, none), MPI_ERR_WIN, "fence");
  expect_class(MPI_Win_start(MPI_GROUP_EMPTY, 0, none), MPI_ERR_WIN, "start");
  expect_class(MPI_Win_post(MPI_GROUP_EMPTY, 0, none), MPI_ERR_WIN, "post");
  expect_class(MPI_Win_complete(none), MPI_ERR_WIN, "complete");
  expect_class(MPI_Win_wait(none), MPI_ERR_WIN, "wait");
  expect_class(MPI_Win_test(none, &flag), MPI_ERR_WIN, "test");
  expect_class(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, none), MPI_ERR_WIN, "lock");
  expect_class(MPI_Win_unlock(0, none), MPI_ERR_WIN, "unlock");
  expect_class(MPI_Win_lock_all(0, none), MPI_ERR_WIN, "lock_all");
  expect_class(MPI_Win_unlock_all(none), MPI_ERR_WIN, "unlock_all");
  expect_class(MPI_Win_flush(0, none), MPI_ERR_WIN, "flush");
  expect_class(MPI_Win_flush_all(none), MPI_ERR_WIN, "flush_all");
  expect_class(MPI_Win_flush_local(0, none), MPI_ERR_WIN, "flush_local");
  expect_class(MPI_Win_flush_local_all(none), MPI_ERR_WIN, "flush_local_all");
  expect_class(MPI_Win_sync(none), MPI_ERR_WIN, "sync");
  expect_class(MPI_Win_attach(none, memory_, 8), MPI_ERR_WIN, "attach");
  expect_class(MPI_Win_get_attr(none, MPI_WIN_BASE, &value, &flag), MPI_ERR_WIN, "get_attr");
  expect_class(MPI_Win_free(&none), MPI_ERR_WIN, "free");
}

static void test_creation(void) {
  MPI_Win win = MPI_WIN_NULL;
  void* base;
  expect_class(MPI_Win_create(memory_, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_SIZE,
               "create, size -1");
  expect_class(MPI_Win_create(memory_, 8, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_DISP,
               "create, unit 0");
  expect_class(MPI_Win_allocate(-1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), MPI_ERR_SIZE,
               "allocate, size -1");
  expect_class(MPI_Win_create(memory_, 8, 1, MPI_INFO_NULL, MPI_COMM_NULL, &win), MPI_ERR_COMM,
               "create, no communicator");
  DO(MPI_Barrier(MPI_COMM_WORLD));
}

static void user_op(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)in, (void)inout, (void)count, (void)type;
}

static void test_operations(void) {
  MPI_Op op;
  MPI_Op_create(user_op, 1, &op);
  DO(MPI_Win_lock(MPI_LOCK_SHARED, rank_, 0, win_));
  expect_class(MPI_Accumulate(&word_, 1, MPI_LONG, rank_, 0, 1, MPI_LONG, op, win_), MPI_ERR_OP,
               "a user's operation");
  expect_class(MPI_Accumulate(&word_, 1, MPI_LONG, rank_, 0, 1, MPI_LONG, MPI_OP_NULL, win_), MPI_ERR_OP,
               "no operation");
  if (promised()) {
    double number = 1, was = 2;
    expect_class(MPI_Fetch_and_op(&word_, &other_, MPI_LONG, rank_, 0, op, win_), MPI_ERR_OP,
                 "fetch, a user's operation");
    expect_class(MPI_Accumulate(&number, 1, MPI_DOUBLE, rank_, 1, 1, MPI_DOUBLE, MPI_BAND, win_), MPI_ERR_OP,
                 "bits of floating point");
    expect_class(MPI_Accumulate(&word_, 1, MPI_LONG, rank_, 1, 1, MPI_LONG, MPI_NO_OP, win_), MPI_ERR_OP,
                 "accumulate, MPI_NO_OP");
    expect_class(MPI_Compare_and_swap(&number, &number, &was, MPI_DOUBLE, rank_, 1, win_), MPI_ERR_TYPE,
                 "compare-and-swap of floating point");
    expect_class(MPI_Put(&word_, 1, MPI_LONG, rank_, 0, 2, MPI_LONG, win_), MPI_ERR_TYPE,
                 "a put of unequal lengths");
  }
  DO(MPI_Win_unlock(rank_, win_));
  MPI_Op_free(&op);
  expect_unharmed("wrong operations");
}

static void test_ranges(void) {
  const int words = kBytes / (int)sizeof(long), next = (rank_ + 1) % size_;
  DO(MPI_Win_lock_all(0, win_));
  for (int which = 0; which < kCalls; ++which) {
    char what[100];
    snprintf(what, sizeof what, "%s beyond the window", call_names_[which]);
    expect_class(call(which, next, words, 1, win_), MPI_ERR_RMA_RANGE, what);
    if (which != 4 && which != 5)
      expect_class(call(which, next, words - 1, 2, win_), MPI_ERR_RMA_RANGE, what);
    expect_class(call(which, next, (MPI_Aint)1 << 60, 1, win_), MPI_ERR_RMA_RANGE, what);
    const int code = class_of(call(which, next, -1, 1, win_));
    CHECK(code == MPI_ERR_RMA_RANGE || code == MPI_ERR_DISP, "%s, before it: class %d", what, code);
  }
  DO(MPI_Win_unlock_all(win_));
  expect_unharmed("places beyond the window");
}

static void test_epochs(void) {
  const int next = (rank_ + 1) % size_;
  MPI_Group group;
  int flag = 0;
  /* After MPI_MODE_NOSUCCEED there is no epoch. */
  for (int which = 0; which < kCalls; ++which)
    expect_class(call(which, next, 0, 1, win_), MPI_ERR_RMA_SYNC, call_names_[which]);
  expect_class(MPI_Win_unlock(next, win_), MPI_ERR_RMA_SYNC, "unlock without lock");
  expect_class(MPI_Win_unlock_all(win_), MPI_ERR_RMA_SYNC, "unlock_all without lock_all");
  expect_class(MPI_Win_complete(win_), MPI_ERR_RMA_SYNC, "complete without start");
  expect_class(MPI_Win_wait(win_), MPI_ERR_RMA_SYNC, "wait without post");
  expect_class(MPI_Win_test(win_, &flag), MPI_ERR_RMA_SYNC, "test without post");
  expect_class(MPI_Win_flush(next, win_), MPI_ERR_RMA_SYNC, "flush without lock");
  expect_class(MPI_Win_flush_all(win_), MPI_ERR_RMA_SYNC, "flush_all without lock");
  expect_class(MPI_Win_flush_local(next, win_), MPI_ERR_RMA_SYNC, "flush_local without lock");
  expect_class(MPI_Win_flush_local_all(win_), MPI_ERR_RMA_SYNC, "flush_local_all without lock");
  expect_unharmed("calls without epochs");

  DO(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win_));
  expect_class(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win_), MPI_ERR_RMA_SYNC, "a second lock of one target");
  expect_class(MPI_Win_lock_all(0, win_), MPI_ERR_RMA_SYNC, "lock_all within a lock");
  if (size_ > 1) {
    expect_class(MPI_Put(&word_, 1, MPI_LONG, rank_, 1, 1, MPI_LONG, win_), MPI_ERR_RMA_SYNC,
                 "a put without a lock");
    expect_class(MPI_Win_unlock(rank_, win_), MPI_ERR_RMA_SYNC, "unlock of another");
  }
  DO(MPI_Win_unlock(next, win_));
  DO(MPI_Win_lock_all(0, win_));
  expect_class(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win_), MPI_ERR_RMA_SYNC, "a lock within lock_all");
  expect_class(MPI_Win_unlock(next, win_), MPI_ERR_RMA_SYNC, "unlock within lock_all");
  expect_class(MPI_Win_lock_all(0, win_), MPI_ERR_RMA_SYNC, "lock_all within lock_all");
  DO(MPI_Win_unlock_all(win_));

  MPI_Win_get_group(win_, &group);
  DO(MPI_Win_post(group, 0, win_));
  expect_class(MPI_Win_post(group, 0, win_), MPI_ERR_RMA_SYNC, "post within post");
  DO(MPI_Win_start(group, 0, win_));
  expect_class(MPI_Win_start(group, 0, win_), MPI_ERR_RMA_SYNC, "start within start");
  expect_class(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win_), MPI_ERR_RMA_SYNC, "a lock within start");
  DO(MPI_Win_complete(win_));
  DO(MPI_Win_wait(win_));
  MPI_Group_free(&group);
  expect_unharmed("epochs within epochs");
}

static void test_arguments(void) {
  char* base;
  MPI_Aint size;
  int unit;
  if (promised()) {
    expect_class(MPI_Win_lock(4711, rank_, 0, win_), MPI_ERR_LOCKTYPE, "lock type");
    expect_class(MPI_Win_fence(MPI_MODE_NOCHECK, win_), MPI_ERR_ASSERT, "fence, MPI_MODE_NOCHECK");
    expect_class(MPI_Win_fence(1 << 30, win_), MPI_ERR_ASSERT, "fence, an unknown assertion");
    expect_class(MPI_Win_lock(MPI_LOCK_SHARED, rank_, MPI_MODE_NOPUT, win_), MPI_ERR_ASSERT,
                 "lock, MPI_MODE_NOPUT");
    expect_class(MPI_Win_lock_all(MPI_MODE_NOSTORE, win_), MPI_ERR_ASSERT, "lock_all, MPI_MODE_NOSTORE");
    expect_class(MPI_Win_start(MPI_GROUP_EMPTY, MPI_MODE_NOPUT, win_), MPI_ERR_ASSERT,
                 "start, MPI_MODE_NOPUT");
    expect_class(MPI_Win_post(MPI_GROUP_EMPTY, MPI_MODE_NOPRECEDE, win_), MPI_ERR_ASSERT,
                 "post, MPI_MODE_NOPRECEDE");
    expect_class(MPI_Win_attach(win_, &word_, 8), MPI_ERR_RMA_FLAVOR, "attach to a window of memory");
    expect_class(MPI_Win_detach(win_, &word_), MPI_ERR_RMA_FLAVOR, "detach from a window of memory");
    MPI_Win dynamic;
    DO(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic));
    DO(MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN));
    expect_class(MPI_Win_shared_query(dynamic, 0, &size, &unit, &base), MPI_ERR_RMA_FLAVOR,
                 "shared_query of a dynamic window");
    expect_class(MPI_Win_detach(dynamic, memory_), MPI_ERR_RMA_ATTACH, "detach of what is not attached");
    DO(MPI_Win_free(&dynamic));
  }
  expect_unharmed("wrong arguments");
}

static void test_free(void) {
  const MPI_Win before = win_;
  DO(MPI_Win_lock(MPI_LOCK_SHARED, rank_, 0, win_));
  expect_class(MPI_Win_free(&win_), MPI_ERR_RMA_SYNC, "free within a lock");
  CHECK(win_ == before, "a free that failed takes the handle");
  DO(MPI_Win_unlock(rank_, win_));
  DO(MPI_Win_lock_all(0, win_));
  expect_class(MPI_Win_free(&win_), MPI_ERR_RMA_SYNC, "free within lock_all");
  DO(MPI_Win_unlock_all(win_));
  DO(MPI_Win_start(MPI_GROUP_EMPTY, 0, win_));
  expect_class(MPI_Win_free(&win_), MPI_ERR_RMA_SYNC, "free within start");
  DO(MPI_Win_complete(win_));
  expect_unharmed("frees that failed");
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  DO(MPI_Win_create(memory_, kBytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win_));
  DO(MPI_Win_set_errhandler(win_, MPI_ERRORS_RETURN));
  test_targets();
  test_null_window();
  test_creation();
  test_operations();
  test_arguments();
  if (promised() || argc > 1) {
    test_ranges();
    test_epochs();
    test_free();
  }
  DO(MPI_Win_free(&win_));
  MPI_Finalize();
  return 0;
}
