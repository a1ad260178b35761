/* Windows as objects (MPI 5.0 sections 12.2, 7.7.3, 7.8, 9.3.2): creation and attributes, shared memory of
 * other ranks, attached memory, empty windows, attribute callbacks, names, groups, info, error handlers,
 * handles as integers. Any number of ranks. */
#include "window.h"

static void expect_attributes(MPI_Win win, const void* base, MPI_Aint bytes, int unit, int flavor) {
  void* value = NULL;
  int flag = 0;
  DO(MPI_Win_get_attr(win, MPI_WIN_BASE, &value, &flag));
  CHECK(flag && value == base, "flavor %d: MPI_WIN_BASE is %p, not %p", flavor, value, base);
  DO(MPI_Win_get_attr(win, MPI_WIN_SIZE, &value, &flag));
  CHECK(flag && *(MPI_Aint*)value == bytes, "flavor %d: MPI_WIN_SIZE", flavor);
  DO(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &value, &flag));
  CHECK(flag && (flavor == MPI_WIN_FLAVOR_DYNAMIC || *(int*)value == unit), "flavor %d: MPI_WIN_DISP_UNIT",
        flavor);
  DO(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &value, &flag));
  CHECK(flag && *(int*)value == flavor, "flavor %d: MPI_WIN_CREATE_FLAVOR", flavor);
  DO(MPI_Win_get_attr(win, MPI_WIN_MODEL, &value, &flag));
  CHECK(flag && (*(int*)value == MPI_WIN_UNIFIED || *(int*)value == MPI_WIN_SEPARATE),
        "flavor %d: MPI_WIN_MODEL", flavor);
}

/* Sizes and units differ by rank; every third rank has no memory. */
static MPI_Aint bytes_of(int rank) {
  return rank % 3 == 2 ? 0 : 64 * (rank + 1);
}

/* Each rank in turn writes its mark into the first byte of every rank with memory. */
static void use(MPI_Win win, const char* memory) {
  const int turns = size_;
  for (int origin = 0; origin < turns; ++origin) {
    const char mark = (char)(origin + 1);
    DO(MPI_Win_fence(0, win));
    for (int target = 0; origin == rank_ && target < size_; ++target)
      if (bytes_of(target) > 0) DO(MPI_Put(&mark, 1, MPI_CHAR, target, 0, 1, MPI_CHAR, win));
    DO(MPI_Win_fence(0, win));
    if (bytes_of(rank_) > 0) CHECK(memory[0] == mark, "rank %d wrote %d", origin, memory[0]);
  }
  DO(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

static void test_create_and_allocate(void) {
  const MPI_Aint bytes = bytes_of(rank_);
  const int unit = rank_ + 1;
  char* memory = malloc(1024);
  MPI_Win win;
  DO(MPI_Win_create(bytes == 0 ? NULL : memory, bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  expect_attributes(win, bytes == 0 ? NULL : memory, bytes, unit, MPI_WIN_FLAVOR_CREATE);
  use(win, memory);
  DO(MPI_Win_free(&win));
  CHECK(win == MPI_WIN_NULL, "MPI_Win_free leaves a handle");
  memset(memory, 0, 1024); /* the memory still belongs to the program */
  /* A window without memory on any rank, and windows that overlap. */
  DO(MPI_Win_create(memory, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  DO(MPI_Win_free(&win));
  MPI_Win two[2];
  for (int i = 0; i < 2; ++i)
    DO(MPI_Win_create(memory + 32 * i, 64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &two[i]));
  for (int i = 0; i < 2; ++i) DO(MPI_Win_free(&two[i]));
  free(memory);

  char* base = NULL;
  DO(MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
  if (bytes > 0) {
    CHECK(base != NULL, "no memory");
    expect_attributes(win, base, bytes, unit, MPI_WIN_FLAVOR_ALLOCATE);
    memset(base, 1, (size_t)bytes);
  }
  use(win, base);
  DO(MPI_Win_free(&win));
#if MPI_VERSION >= 4
  DO(MPI_Win_allocate_c(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
  use(win, base);
  DO(MPI_Win_free(&win));
  DO(MPI_Win_create_c(base = malloc(64), 64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  expect_attributes(win, base, 64, 8, MPI_WIN_FLAVOR_CREATE);
  DO(MPI_Win_free(&win));
  free(base);
#endif
}

/* Each rank reads every rank's memory at the address from MPI_Win_shared_query; by default the parts are
 * contiguous. */
static void test_shared(int apart) {
  MPI_Comm near;
  MPI_Win win;
  MPI_Info info;
  char* mine = NULL;
  int rank, count, unit = -1, first = -1;
  DO(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near));
  MPI_Comm_rank(near, &rank);
  MPI_Comm_size(near, &count);
  MPI_Info_create(&info);
  MPI_Info_set(info, "alloc_shared_noncontig", apart ? "true" : "false");
  /* With several ranks, rank 0 has no memory, so that the query with MPI_PROC_NULL returns another rank's. */
  const int shift = count > 1 ? 2 : 0;
  const MPI_Aint bytes = bytes_of(rank + shift);
  DO(MPI_Win_allocate_shared(bytes, rank + 1, info, near, &mine, &win));
  MPI_Info_free(&info);
  if (bytes > 0) expect_attributes(win, mine, bytes, rank + 1, MPI_WIN_FLAVOR_SHARED);
  DO(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
  memset(mine, rank + 1, (size_t)bytes);
  DO(MPI_Win_sync(win));
  MPI_Barrier(near);
  DO(MPI_Win_sync(win));
  char* end = NULL;
  for (int i = 0; i < count; ++i) {
    MPI_Aint size = -1;
    char* base = NULL;
    DO(MPI_Win_shared_query(win, i, &size, &unit, &base));
    CHECK(size == bytes_of(i + shift) && (size == 0 || unit == i + 1), "rank %d has %ld bytes, unit %d", i,
          (long)size, unit);
    for (MPI_Aint at = 0; at < size; ++at) CHECK(base[at] == i + 1, "byte %ld of rank %d", (long)at, i);
    if (size == 0) continue;
    if (first < 0) first = i;
    CHECK(i != rank || base == mine, "this rank's memory is elsewhere");
    CHECK(apart || end == NULL || base == end, "rank %d does not begin where the one before ends", i);
    end = base + size;
  }
  MPI_Aint size = -1;
  char *base = NULL, *of_first = NULL;
  DO(MPI_Win_shared_query(win, first, &size, &unit, &of_first));
  DO(MPI_Win_shared_query(win, MPI_PROC_NULL, &size, &unit, &base));
  CHECK(base == of_first && size == bytes_of(first + shift) && unit == first + 1,
        "MPI_PROC_NULL stands for %ld bytes, unit %d", (long)size, unit);
  MPI_Barrier(near);
  /* Stores reach other ranks' memory. */
  DO(MPI_Win_shared_query(win, (rank + 1) % count, &size, &unit, &base));
  if (size > 0) base[size - 1] = (char)(100 + rank);
  DO(MPI_Win_sync(win));
  MPI_Barrier(near);
  DO(MPI_Win_sync(win));
  if (bytes > 0) CHECK(mine[bytes - 1] == 100 + (rank + count - 1) % count, "stored: %d", mine[bytes - 1]);
  DO(MPI_Win_unlock_all(win));
  DO(MPI_Win_free(&win));
  /* No memory on any rank. */
  DO(MPI_Win_allocate_shared(0, 1, MPI_INFO_NULL, near, &mine, &win));
  DO(MPI_Win_shared_query(win, MPI_PROC_NULL, &size, &unit, &base));
  CHECK(size == 0, "%ld bytes of MPI_PROC_NULL", (long)size);
  DO(MPI_Win_free(&win));
  MPI_Comm_free(&near);
}

/* Memory is attached and detached during the window's life; displacements are addresses. */
static void test_dynamic(void) {
  enum { kPieces = 5, kLongs = 100 };
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  long* pieces[kPieces];
  MPI_Aint here[kPieces], there[kPieces];
  MPI_Win win;
  DO(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  expect_attributes(win, MPI_BOTTOM, 0, 1, MPI_WIN_FLAVOR_DYNAMIC);
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < kPieces; ++i) {
      pieces[i] = calloc(kLongs, sizeof(long));
      DO(MPI_Win_attach(win, pieces[i], (MPI_Aint)sizeof(long) * kLongs));
      MPI_Get_address(pieces[i], &here[i]);
    }
    DO(MPI_Sendrecv(here, kPieces, MPI_AINT, previous, 1, there, kPieces, MPI_AINT, next, 1, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    DO(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win));
    for (long i = 0; i < kPieces; ++i) {
      const long value = 100 * turn + 10 * i + rank_;
      DO(MPI_Put(&value, 1, MPI_LONG, next, MPI_Aint_add(there[i], (MPI_Aint)sizeof(long) * (kLongs - 1)), 1,
                 MPI_LONG, win));
      DO(MPI_Win_flush(next, win));
    }
    DO(MPI_Win_unlock(next, win));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < kPieces; ++i) {
      CHECK(pieces[i][kLongs - 1] == 100 * turn + 10 * i + previous, "piece %d: %ld", i,
            pieces[i][kLongs - 1]);
      CHECK(pieces[i][0] == 0, "piece %d begins with %ld", i, pieces[i][0]);
    }
    /* In any order; memory of the last turn stays attached until the window is freed. */
    for (int i = kPieces - 1; turn < 2 && i >= 0; --i) {
      DO(MPI_Win_detach(win, pieces[i]));
      free(pieces[i]);
    }
  }
  DO(MPI_Win_attach(win, NULL, 0));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < kPieces; ++i) DO(MPI_Win_detach(win, pieces[i]));
  DO(MPI_Win_free(&win));
  for (int i = 0; i < kPieces; ++i) free(pieces[i]);
}

static int deleted_, extra_, order_[8];

static int copy_attribute(MPI_Win win, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)win, (void)keyval, (void)extra, (void)in, (void)out;
  *flag = 0;
  CHECK(0, "a window is never copied");
  return MPI_SUCCESS;
}

static int delete_attribute(MPI_Win win, int keyval, void* value, void* extra) {
  (void)keyval;
  CHECK(win != MPI_WIN_NULL && extra == &extra_, "the delete function is given another extra state");
  order_[deleted_++ % 8] = (int)(intptr_t)value;
  return MPI_SUCCESS;
}

static void test_attributes(MPI_Win* win) {
  int keys[3], flag = 1, plain = MPI_KEYVAL_INVALID;
  void* value = NULL;
  for (int i = 0; i < 3; ++i) DO(MPI_Win_create_keyval(copy_attribute, delete_attribute, &keys[i], &extra_));
  DO(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &plain, NULL));
  DO(MPI_Win_get_attr(*win, keys[0], &value, &flag));
  CHECK(!flag, "an attribute that was never set");
  DO(MPI_Win_set_attr(*win, keys[0], (void*)(intptr_t)11));
  DO(MPI_Win_set_attr(*win, plain, &extra_));
  DO(MPI_Win_get_attr(*win, keys[0], &value, &flag));
  CHECK(flag && value == (void*)(intptr_t)11 && deleted_ == 0, "the first attribute");
  DO(MPI_Win_set_attr(*win, keys[0], (void*)(intptr_t)12));
  CHECK(deleted_ == 1 && order_[0] == 11, "set again: %d deleted", deleted_);
  DO(MPI_Win_delete_attr(*win, keys[0]));
  CHECK(deleted_ == 2 && order_[1] == 12, "deleted: %d", deleted_);
  DO(MPI_Win_get_attr(*win, keys[0], &value, &flag));
  CHECK(!flag, "an attribute that was deleted");
  DO(MPI_Win_set_attr(*win, keys[1], (void*)(intptr_t)21));
  DO(MPI_Win_set_attr(*win, keys[2], (void*)(intptr_t)31));
  for (int i = 0; i < 3; ++i) {
    DO(MPI_Win_free_keyval(&keys[i]));
    CHECK(keys[i] == MPI_KEYVAL_INVALID, "MPI_Win_free_keyval leaves a key");
  }
  DO(MPI_Win_free_keyval(&plain));
  CHECK(deleted_ == 2, "attributes go with the window, not with the key");
  DO(MPI_Win_free(win));
  CHECK(deleted_ == 4 && order_[2] + order_[3] == 52, "%d deleted with the window", deleted_);
}

static int handled_, handled_code_;
static MPI_Win handled_win_;

static void handle(MPI_Win* win, int* code, ...) {
  ++handled_;
  handled_code_ = *code;
  handled_win_ = *win;
}

static void test_handlers(MPI_Win win) {
  MPI_Errhandler initial, mine, got;
  DO(MPI_Win_get_errhandler(win, &initial));
  CHECK(initial == MPI_ERRORS_ARE_FATAL, "a window's first error handler");
  DO(MPI_Errhandler_free(&initial));
  DO(MPI_Win_create_errhandler(handle, &mine));
  DO(MPI_Win_set_errhandler(win, mine));
  DO(MPI_Win_get_errhandler(win, &got));
  CHECK(got == mine, "another error handler than was set");
  DO(MPI_Errhandler_free(&got));
  DO(MPI_Errhandler_free(&mine)); /* the window still uses it */
  CHECK(mine == MPI_ERRHANDLER_NULL, "MPI_Errhandler_free leaves a handle");
  DO(MPI_Win_call_errhandler(win, MPI_ERR_RMA_RANGE));
  CHECK(handled_ == 1 && handled_code_ == MPI_ERR_RMA_RANGE && handled_win_ == win,
        "handled %d times, code %d", handled_, handled_code_);
  MPI_Put(&handled_, 1, MPI_INT, size_, 0, 1, MPI_INT, win);
  CHECK(handled_ == 2 && class_of(handled_code_) == MPI_ERR_RANK, "handled %d times, class %d", handled_,
        class_of(handled_code_));
  DO(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  CHECK(class_of(MPI_Put(&handled_, 1, MPI_INT, size_, 0, 1, MPI_INT, win)) == MPI_ERR_RANK && handled_ == 2,
        "returned");
  DO(MPI_Win_call_errhandler(win, MPI_ERR_OTHER));
}

static void test_names_and_handles(MPI_Win win) {
  char name[MPI_MAX_OBJECT_NAME] = "x", longest[MPI_MAX_OBJECT_NAME];
  int length = -1, result = -1;
  DO(MPI_Win_get_name(win, name, &length));
  CHECK(length == 0 && name[0] == '\0', "a window is called '%s' from the beginning", name);
  DO(MPI_Win_set_name(win, "hearth"));
  DO(MPI_Win_get_name(win, name, &length));
  CHECK(length == 6 && strcmp(name, "hearth") == 0, "called '%s'", name);
  memset(longest, 'w', sizeof longest);
  longest[sizeof longest - 1] = '\0';
  DO(MPI_Win_set_name(win, longest));
  DO(MPI_Win_get_name(win, name, &length));
  CHECK(length == MPI_MAX_OBJECT_NAME - 1 && strcmp(name, longest) == 0, "the longest name has %d", length);

  MPI_Group group, world;
  DO(MPI_Win_get_group(win, &group));
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_compare(group, world, &result);
  CHECK(result == MPI_IDENT, "the window's group");
  MPI_Group_free(&group);
  MPI_Group_free(&world);

  MPI_Info info, used;
  MPI_Info_create(&info);
  MPI_Info_set(info, "no_locks", "false");
  MPI_Info_set(info, "nobody_knows_this", "at all");
  DO(MPI_Win_set_info(win, info));
  MPI_Info_free(&info);
  DO(MPI_Win_get_info(win, &used));
  CHECK(used != MPI_INFO_NULL, "no info");
  char value[MPI_MAX_INFO_VAL + 1];
  int flag = 0;
  MPI_Info_get(used, "no_locks", MPI_MAX_INFO_VAL, value, &flag);
  CHECK(!flag || strcmp(value, "false") == 0, "no_locks is '%s'", value);
  MPI_Info_free(&used);

#ifdef MPI_ABI_VERSION
  CHECK(MPI_Win_fromint(MPI_Win_toint(win)) == win, "a handle as an integer");
  CHECK(MPI_Win_fromint(MPI_Win_toint(MPI_WIN_NULL)) == MPI_WIN_NULL, "the null handle as an integer");
#else
  CHECK(MPI_Win_f2c(MPI_Win_c2f(win)) == win, "a handle in Fortran");
  CHECK(MPI_Win_f2c(MPI_Win_c2f(MPI_WIN_NULL)) == MPI_WIN_NULL, "the null handle in Fortran");
#endif
}

/* All info keys that make a promise about a window (section 12.2.1), where it is true. */
static void test_info(void) {
  static const char* const promises[][2] = {
      {"no_locks", "true"},  {"accumulate_ordering", "none"}, {"accumulate_ops", "same_op"},
      {"same_size", "true"}, {"same_disp_unit", "true"},      {"mpi_accumulate_granularity", "8"}};
  const long one = 1;
  long* memory;
  MPI_Win win;
  MPI_Info info;
  MPI_Info_create(&info);
  for (size_t i = 0; i < sizeof promises / sizeof promises[0]; ++i)
    MPI_Info_set(info, promises[i][0], promises[i][1]);
  DO(MPI_Win_allocate(sizeof(long), 1, info, MPI_COMM_WORLD, &memory, &win));
  MPI_Info_free(&info);
  *memory = 0;
  DO(MPI_Win_fence(0, win));
  for (int i = 0; i < size_; ++i) DO(MPI_Accumulate(&one, 1, MPI_LONG, i, 0, 1, MPI_LONG, MPI_SUM, win));
  DO(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  CHECK(*memory == size_, "the sum is %ld", *memory);
  DO(MPI_Win_free(&win));
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  test_create_and_allocate();
  test_shared(0);
  test_shared(1);
  test_dynamic();
  MPI_Win win;
  long memory[4];
  DO(MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  test_handlers(win);
  test_names_and_handles(win);
  test_attributes(&win);
  test_info();
  MPI_Finalize();
  return 0;
}
