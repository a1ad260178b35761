/* Info hints in force (MPI 5.0 sections 7.4.4, 11.4.3, 12.2.7): MPI_Comm_get_info, MPI_Win_get_info and
 * MPI_Session_get_info return exactly the supported hints with their values. Any number of ranks. */
#include "../coll/check.h"

enum { hints_max = 8 };

typedef struct {
  const char* key;
  const char* standard; /* the default */
  const char* other;    /* another valid value */
} Hint;

static const Hint comm_hints_[hints_max] = {
    {"mpi_assert_no_any_tag", "false", "true"},
    {"mpi_assert_no_any_source", "false", "true"},
    {"mpi_assert_exact_length", "false", "true"},
    {"mpi_assert_allow_overtaking", "false", "true"},
    {"mpi_assert_strict_persistent_collective_ordering", "false", "true"},
    {NULL, NULL, NULL},
};
static const Hint win_hints_[hints_max] = {
    {"no_locks", "false", "true"},
    {"accumulate_ordering", "rar,raw,war,waw", "none"},
    {"accumulate_ops", "same_op_no_op", "same_op"},
    {"mpi_accumulate_granularity", "0", "8"},
    {"same_size", "false", "true"},
    {"same_disp_unit", "false", "true"},
    {NULL, NULL, NULL},
};

/* Checks that a key has this value; NULL: that it is absent. */
static void expect(MPI_Info info, const char* key, const char* expected, const char* what) {
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int length = sizeof value, flag = -1;
  MPI_Info_get_string(info, key, &length, value, &flag);
  CHECK(flag == (expected != NULL), "%s: %s is %s", what, key, flag ? value : "absent");
  CHECK(!flag || strcmp(value, expected) == 0, "%s: %s is '%s', not '%s'", what, key, value, expected);
}

/* Checks for all supported hints, with their defaults or (`given`) their other values, and `more` further
 * keys. */
static void expect_hints(MPI_Info info, const Hint* hints, int given, int more, const char* what) {
  int keys = -1, count = 0;
  for (; hints[count].key != NULL; ++count) {
    expect(info, hints[count].key, given ? hints[count].other : hints[count].standard, what);
  }
  expect(info, "mpi_memory_alloc_kinds", "mpi,system", what);
  MPI_Info_get_nkeys(info, &keys);
  CHECK(keys == count + 1 + more, "%s: %d hints", what, keys);
  MPI_Info_free(&info);
}

static MPI_Info hints_of_comm(MPI_Comm comm) {
  MPI_Info info = MPI_INFO_NULL;
  CHECK(MPI_Comm_get_info(comm, &info) == MPI_SUCCESS, "MPI_Comm_get_info fails");
  return info;
}

static MPI_Info hints_of_win(MPI_Win win) {
  MPI_Info info = MPI_INFO_NULL;
  CHECK(MPI_Win_get_info(win, &info) == MPI_SUCCESS, "MPI_Win_get_info fails");
  return info;
}

static void expect_of_win(MPI_Win win, const char* key, const char* expected, const char* what) {
  MPI_Info info = hints_of_win(win);
  expect(info, key, expected, what);
  MPI_Info_free(&info);
}

/* All of `hints` with their other values, and keys that must be ignored. */
static MPI_Info all_hints(const Hint* hints) {
  MPI_Info info;
  MPI_Info_create(&info);
  for (int i = 0; hints[i].key != NULL; ++i) MPI_Info_set(info, hints[i].key, hints[i].other);
  MPI_Info_set(info, "nobody_knows_this", "true");
  MPI_Info_set(info, "hearth_nobody_knows_this", "1");
  MPI_Info_set(info, "mpi_memory_alloc_kinds", "cuda");
  MPI_Info_set(info, "mpi_assert_memory_alloc_kinds", "cuda:device");
  return info;
}

/* Values that are invalid for each of these hints. */
static MPI_Info bad_values(const Hint* hints) {
  MPI_Info info;
  MPI_Info_create(&info);
  for (int i = 0; hints[i].key != NULL; ++i) MPI_Info_set(info, hints[i].key, "maybe");
  return info;
}

static void test_comms(void) {
  MPI_Comm with, without, parts[4];
  MPI_Info info = all_hints(comm_hints_), bad = bad_values(comm_hints_);
  expect_hints(hints_of_comm(MPI_COMM_WORLD), comm_hints_, 0, 0, "MPI_COMM_WORLD");
  expect_hints(hints_of_comm(MPI_COMM_SELF), comm_hints_, 0, 0, "MPI_COMM_SELF");

  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &with);
  expect_hints(hints_of_comm(with), comm_hints_, 1, 0, "MPI_Comm_dup_with_info");
  MPI_Comm_set_info(with, bad);
  expect_hints(hints_of_comm(with), comm_hints_, 1, 0, "after invalid values");

  /* New communicators have the defaults (section 7.4.2 on MPI_Comm_dup). */
  MPI_Comm_dup(with, &parts[0]);
  MPI_Comm_split(with, 0, rank_, &parts[1]);
  MPI_Comm_split_type(with, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &parts[2]);
  MPI_Comm_dup_with_info(with, MPI_INFO_NULL, &parts[3]);
  for (int i = 0; i < 4; ++i) {
    expect_hints(hints_of_comm(parts[i]), comm_hints_, 0, 0, "a communicator made from one with hints");
    MPI_Comm_free(&parts[i]);
  }

  MPI_Comm_dup(MPI_COMM_WORLD, &without);
  MPI_Comm_set_info(without, info);
  expect_hints(hints_of_comm(without), comm_hints_, 1, 0, "MPI_Comm_set_info");
  MPI_Info_set(info, "mpi_assert_memory_alloc_kinds", "mpi:alloc_mem:win_allocate,system");
  MPI_Info_set(info, "hearth_p2p_first_fragment_bytes", "4KiB");
  MPI_Comm_set_info(without, info);
  MPI_Info used = hints_of_comm(without);
  expect(used, "mpi_assert_memory_alloc_kinds", "mpi:alloc_mem:win_allocate,system", "more hints");
  expect(used, "hearth_p2p_first_fragment_bytes", "4KiB", "more hints");
  expect_hints(used, comm_hints_, 1, 2, "more hints");
  MPI_Comm_free(&without);
  MPI_Comm_free(&with);
  MPI_Info_free(&info);
  MPI_Info_free(&bad);
}

static MPI_Win make_win(int flavor, MPI_Info info) {
  static long memory[4];
  void* base;
  MPI_Win win = MPI_WIN_NULL;
  if (flavor == 0) MPI_Win_create(memory, sizeof memory, 1, info, MPI_COMM_WORLD, &win);
  if (flavor == 1) MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &win);
  if (flavor == 2) MPI_Win_allocate(sizeof memory, 1, info, MPI_COMM_WORLD, &base, &win);
  if (flavor == 3) MPI_Win_allocate_shared(sizeof memory, 1, info, MPI_COMM_WORLD, &base, &win);
  return win;
}

static void test_wins(void) {
  static const char* const names[] = {"MPI_Win_create", "MPI_Win_create_dynamic", "MPI_Win_allocate",
                                      "MPI_Win_allocate_shared"};
  MPI_Info info = all_hints(win_hints_), bad = bad_values(win_hints_);
  MPI_Info_set(info, "mpi_minimum_memory_alignment", "64");
  MPI_Info_set(info, "alloc_shared_noncontig", "true");
  for (int flavor = 0; flavor < 4; ++flavor) {
    const int shared = flavor == 3, allocated = flavor >= 2;
    MPI_Win win = make_win(flavor, MPI_INFO_NULL);
    expect_of_win(win, "alloc_shared_noncontig", shared ? "false" : NULL, names[flavor]);
    expect_hints(hints_of_win(win), win_hints_, 0, shared, names[flavor]);
    /* Hints for the allocation cannot be set later. */
    MPI_Win_set_info(win, info);
    expect_of_win(win, "alloc_shared_noncontig", shared ? "false" : NULL, names[flavor]);
    expect_hints(hints_of_win(win), win_hints_, 1, shared, "MPI_Win_set_info");
    MPI_Win_free(&win);

    win = make_win(flavor, info);
    expect_of_win(win, "alloc_shared_noncontig", shared ? "true" : NULL, names[flavor]);
    expect_of_win(win, "mpi_minimum_memory_alignment", allocated ? "64" : NULL, names[flavor]);
    expect_hints(hints_of_win(win), win_hints_, 1, shared + allocated, "hints of the creation");
    MPI_Win_set_info(win, bad);
    expect_hints(hints_of_win(win), win_hints_, 1, shared + allocated, "after invalid values");
    MPI_Win_free(&win);
  }
  MPI_Info_free(&info);
  MPI_Info_free(&bad);
}

static void test_session(void) {
  MPI_Session session;
  MPI_Info info = all_hints(comm_hints_), used;
  int keys = -1;
  MPI_Info_set(info, "thread_level", "MPI_THREAD_SERIALIZED");
  CHECK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS, "no session");
  MPI_Session_get_info(session, &used);
  expect(used, "mpi_memory_alloc_kinds", "mpi,system", "a session");
  MPI_Info_get_nkeys(used, &keys);
  CHECK(keys == 2, "%d hints of a session", keys); /* and thread_level */
  MPI_Info_free(&used);
  MPI_Info_free(&info);
  MPI_Session_finalize(&session);
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  test_comms();
  test_wins();
  test_session();
  MPI_Finalize();
  return 0;
}
