/* Groups, communicators, attributes and info objects where definitions are easy to get wrong (MPI 5.0
 * chapters 7 and 10): empty groups, splits that leave some or all ranks out, duplications in flight among
 * other operations, callbacks that fail, keys freed while in use, values that do not fit. Any number of
 * ranks. */
#include <limits.h>

#include "../coll/check.h"

static int sum_over(MPI_Comm comm) {
  int one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  return sum;
}

static void expect_empty(MPI_Group* group, const char* what) {
  int size = -1, rank = 0, result = -1;
  MPI_Group_size(*group, &size);
  MPI_Group_rank(*group, &rank);
  MPI_Group_compare(*group, MPI_GROUP_EMPTY, &result);
  CHECK(size == 0 && rank == MPI_UNDEFINED && result == MPI_IDENT, "%s: size %d, rank %d, compared %d", what,
        size, rank, result);
  MPI_Group_free(group);
  CHECK(*group == MPI_GROUP_NULL, "%s: not set to null", what);
}

static void test_groups_of_nobody(void) {
  MPI_Group world, got, other;
  int all[64][3] = {{size_ - 1, 0, -1}}, all_ranks[64], result;
  MPI_Comm comm = MPI_COMM_WORLD;
  for (int i = 0; i < size_; ++i) all_ranks[i] = size_ - 1 - i;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 0, NULL, &got);
  expect_empty(&got, "no rank included");
  MPI_Group_excl(world, size_, all_ranks, &got);
  expect_empty(&got, "all ranks excluded");
  MPI_Group_range_incl(world, 0, NULL, &got);
  expect_empty(&got, "no range included");
  MPI_Group_range_excl(world, 1, all, &got);
  expect_empty(&got, "all ranges excluded");
  MPI_Group_difference(world, world, &got);
  expect_empty(&got, "a difference with itself");
  MPI_Group_difference(MPI_GROUP_EMPTY, world, &got);
  expect_empty(&got, "the empty group without all");
  MPI_Group_intersection(world, MPI_GROUP_EMPTY, &got);
  expect_empty(&got, "an intersection with the empty group");
  MPI_Group_union(MPI_GROUP_EMPTY, MPI_GROUP_EMPTY, &got);
  expect_empty(&got, "a union of empty groups");
  MPI_Group_incl(MPI_GROUP_EMPTY, 0, NULL, &got);
  expect_empty(&got, "no rank of the empty group");
  MPI_Group_union(MPI_GROUP_EMPTY, world, &got);
  MPI_Group_compare(got, world, &result);
  CHECK(result == MPI_IDENT, "a union with the empty group: %d", result);
  MPI_Group_free(&got);
  MPI_Group_excl(world, 0, NULL, &got);
  MPI_Group_compare(got, world, &result);
  CHECK(result == MPI_IDENT, "no rank excluded: %d", result);
  MPI_Group_free(&got);

  /* A reversed group, and one whose steps do not reach the end of the range. */
  MPI_Group_range_incl(world, 1, all, &other);
  MPI_Group_compare(other, world, &result);
  CHECK(result == (size_ == 1 ? MPI_IDENT : MPI_SIMILAR), "a group backwards: %d", result);
  int ranks[] = {0, MPI_PROC_NULL, size_ - 1}, there[3];
  MPI_Group_translate_ranks(other, 3, ranks, world, there);
  CHECK(there[0] == size_ - 1 && there[1] == MPI_PROC_NULL && there[2] == 0, "translated: %d %d %d", there[0],
        there[1], there[2]);
  MPI_Group_translate_ranks(world, 2, ranks, MPI_GROUP_EMPTY, there);
  CHECK(there[0] == MPI_UNDEFINED && there[1] == MPI_PROC_NULL, "translated to the empty group: %d %d",
        there[0], there[1]);
  MPI_Group_translate_ranks(world, 0, NULL, other, NULL);
  all[0][0] = 0;
  all[0][1] = size_ - 1;
  all[0][2] = 3;
  MPI_Group_range_incl(world, 1, all, &got);
  MPI_Group_size(got, &result);
  CHECK(result == (size_ + 2) / 3, "every third: %d", result);
  MPI_Group_free(&got);
  MPI_Group_free(&other);

  MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &comm);
  CHECK(comm == MPI_COMM_NULL, "a communicator of the empty group");
  /* Disjoint groups in one call: the even and the odd ranks (section 7.4.2). */
  all[0][0] = rank_ % 2;
  all[0][2] = 2;
  if (size_ > 1) {
    MPI_Group_range_incl(world, 1, all, &got);
    MPI_Comm_create(MPI_COMM_WORLD, got, &comm);
    CHECK(sum_over(comm) == (size_ + 1 - rank_ % 2) / 2, "two communicators at once");
    MPI_Comm_free(&comm);
    MPI_Group_free(&got);
  }
  MPI_Group_free(&world);
}

static void test_splits(void) {
  MPI_Comm part = MPI_COMM_WORLD;
  int rank, size;
  MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 5, &part);
  CHECK(part == MPI_COMM_NULL, "a part of the empty group");
  /* The largest color; keys at the limits of int. */
  const int last = rank_ == size_ - 1;
  MPI_Comm_split(MPI_COMM_WORLD, INT_MAX, last ? INT_MIN : INT_MAX, &part);
  MPI_Comm_rank(part, &rank);
  CHECK(rank == (last ? 0 : rank_ + 1), "rank %d by key", rank);
  MPI_Comm_free(&part);
  /* One rank is left out. */
  MPI_Comm_split(MPI_COMM_WORLD, last ? MPI_UNDEFINED : 0, -rank_, &part);
  CHECK((part == MPI_COMM_NULL) == last, "who is left out");
  if (!last) {
    MPI_Comm_rank(part, &rank);
    MPI_Comm_size(part, &size);
    CHECK(size == size_ - 1 && rank == size - 1 - rank_ && sum_over(part) == size, "rank %d of %d", rank,
          size);
    MPI_Comm_free(&part);
  }
}

#if MPI_VERSION >= 4
/* The size of the part by this kind of division; 0 for MPI_COMM_NULL. */
static int part_by(int split_type, const char* key, const char* value) {
  MPI_Comm part;
  MPI_Info info = MPI_INFO_NULL;
  int size = 0;
  if (key != NULL) {
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
  }
  MPI_Comm_split_type(MPI_COMM_WORLD, split_type, 0, info, &part);
  if (part != MPI_COMM_NULL) {
    MPI_Comm_size(part, &size);
    CHECK(sum_over(part) == size, "a part by hardware");
    MPI_Comm_free(&part);
  }
  if (key != NULL) MPI_Info_free(&info);
  return size;
}

static void test_split_types(void) {
  const char resource[] = "mpi_hw_resource_type";
  CHECK(part_by(MPI_UNDEFINED, NULL, NULL) == 0, "divided by MPI_UNDEFINED");
  CHECK(part_by(MPI_COMM_TYPE_SHARED, NULL, NULL) >= 1, "divided by shared memory");
  CHECK(part_by(MPI_COMM_TYPE_HW_GUIDED, resource, "mpi_shared_memory") ==
            part_by(MPI_COMM_TYPE_SHARED, NULL, NULL),
        "guided by shared memory");
  CHECK(part_by(MPI_COMM_TYPE_HW_GUIDED, NULL, NULL) == 0, "guided by nothing");
  CHECK(part_by(MPI_COMM_TYPE_HW_GUIDED, resource, "no such thing") == 0, "guided by no such thing");
  const int part = part_by(MPI_COMM_TYPE_HW_UNGUIDED, NULL, NULL);
  CHECK(part < size_ || size_ == 1, "a part without a guide is smaller than the whole, not %d", part);
#ifdef MPI_COMM_TYPE_RESOURCE_GUIDED
  CHECK(part_by(MPI_COMM_TYPE_RESOURCE_GUIDED, NULL, NULL) == 0, "a resource without a name");
  CHECK(part_by(MPI_COMM_TYPE_RESOURCE_GUIDED, resource, "no such thing") == 0, "no such resource");
  if (promised()) {
    CHECK(part_by(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://WORLD") == size_, "the set of all");
    CHECK(part_by(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://SELF") == 1, "the set of one");
    CHECK(part_by(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://NONE") == 0, "no such set");
  }
#endif
}
#endif

static int copies, deletes, agreed = 1, copies_fail;
static MPI_Comm deleted_on;

static int copy_next(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)comm;
  (void)keyval;
  (void)extra;
  ++copies;
  *(void**)out = (char*)in + 1;
  *flag = 1;
  return copies_fail ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/* The communicator is still complete when its attributes are deleted. */
static int delete_agreed(MPI_Comm comm, int keyval, void* value, void* extra) {
  int rank = -1, size = 0;
  (void)keyval;
  (void)value;
  (void)extra;
  ++deletes;
  deleted_on = comm;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  CHECK(rank == rank_ && size == size_, "a communicator without its ranks in the delete function");
  return agreed ? MPI_SUCCESS : MPI_ERR_OTHER;
}

static void test_attributes(void) {
  int key, flag, before;
  void* value;
  MPI_Comm comm, copy = MPI_COMM_NULL;
  MPI_Request request;
  MPI_Comm_create_keyval(copy_next, delete_agreed, &key, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_attr(comm, key, (void*)10);

  /* An attribute that is set after MPI_Comm_idup is not copied. */
  MPI_Comm_idup(comm, &copy, &request);
  MPI_Comm_set_attr(comm, key, (void*)20);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_get_attr(copy, key, &value, &flag);
  CHECK(flag && value == (void*)11 && copies == 1 && deletes == 1, "%d copies, %d deletes", copies, deletes);
  deleted_on = MPI_COMM_NULL;
  const MPI_Comm handle = copy;
  MPI_Comm_free(&copy);
  CHECK(deletes == 2 && deleted_on == handle, "%d deletes", deletes);

  /* A copy function that fails makes the call fail, and no rank hangs. */
  copies_fail = 1;
  CHECK(MPI_Comm_dup(comm, &copy) != MPI_SUCCESS, "duplicated against the copy function");
  copies_fail = 0;
  CHECK(sum_over(comm) == size_, "after a duplicate that failed");

  agreed = 0;
  before = deletes;
  copy = comm;
  CHECK(MPI_Comm_free(&copy) != MPI_SUCCESS && copy == comm && deletes == before + 1,
        "freed against the delete function");
  CHECK(sum_over(comm) == size_, "after freeing that failed");
  agreed = 1;

  /* A key may be freed while attributes use it; they are deleted by MPI_Comm_delete_attr or with the
   * communicator (section 7.7.2). */
  const int number = key;
  int other;
  MPI_Comm_free_keyval(&key);
  MPI_Comm_dup(comm, &copy);
  MPI_Comm_get_attr(copy, number, &value, &flag);
  CHECK(flag && value == (void*)21, "a copy under a key that was freed");
  before = deletes;
  CHECK(MPI_Comm_delete_attr(comm, number) == MPI_SUCCESS && deletes == before + 1,
        "an attribute whose key was freed cannot be deleted");
  /* No other key gets the number before the last attribute is deleted. */
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &other, NULL);
  CHECK(other != number, "the number of a key in use is given away");
  MPI_Comm_free(&copy);
  CHECK(deletes == before + 2, "%d deletes", deletes - before);
  MPI_Comm_set_attr(comm, other, NULL);
  value = &value;
  MPI_Comm_get_attr(comm, other, &value, &flag);
  CHECK(flag && value == NULL, "an attribute that is a null pointer");
  MPI_Comm_free_keyval(&other);
  MPI_Comm_free(&comm);
}

/* Keys for windows are separate from those for communicators. */
static void test_window_keys(void) {
  int win_key = MPI_KEYVAL_INVALID, comm_key;
  MPI_Win_create_keyval(MPI_WIN_DUP_FN, MPI_WIN_NULL_DELETE_FN, &win_key, NULL);
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &comm_key, NULL);
  CHECK(win_key != MPI_KEYVAL_INVALID, "no key for windows");
  if (promised()) {
    int copy = win_key;
    CHECK(class_of(MPI_Comm_set_attr(MPI_COMM_SELF, win_key, NULL)) == MPI_ERR_KEYVAL, "on a communicator");
    CHECK(class_of(MPI_Comm_free_keyval(&copy)) == MPI_ERR_KEYVAL, "freed as one for communicators");
    CHECK(class_of(MPI_Win_free_keyval(&comm_key)) == MPI_ERR_KEYVAL, "freed as one for windows");
  }
  MPI_Win_free_keyval(&win_key);
  MPI_Comm_free_keyval(&comm_key);
  CHECK(win_key == MPI_KEYVAL_INVALID && comm_key == MPI_KEYVAL_INVALID, "keys are left");
}

/* Duplications in flight, among other operations, completed in another order, of a communicator that is
 * freed. */
static void test_duplicates(void) {
  enum { kCopies = 4 };
  MPI_Comm comm, copies_[kCopies];
  MPI_Request requests[kCopies + 2];
  int value = rank_, sum = -1, results[kCopies];
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_name(comm, "the first");
  for (int i = 0; i < kCopies; ++i) {
    MPI_Comm_idup(comm, &copies_[i], &requests[i]);
    if (i == 0) MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[kCopies]);
    if (i == 1) MPI_Ibarrier(comm, &requests[kCopies + 1]);
    if (i == 2) CHECK(sum_over(comm) == size_, "a sum between duplicates");
  }
  MPI_Comm_free(&comm);
  for (int i = kCopies + 1; i >= 0; --i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  CHECK(sum == size_ * (size_ - 1) / 2, "a sum among duplicates: %d", sum);
  /* Each is separate: messages with the same envelope do not match. */
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  int got[kCopies], out[kCopies];
  MPI_Request sends[kCopies];
  for (int i = kCopies - 1; i >= 0; --i)
    MPI_Irecv(&got[i], 1, MPI_INT, previous, 1, copies_[i], &requests[i]);
  for (int i = 0; i < kCopies; ++i) {
    out[i] = 100 * i + rank_;
    MPI_Isend(&out[i], 1, MPI_INT, next, 1, copies_[i], &sends[i]);
  }
  MPI_Waitall(kCopies, requests, MPI_STATUSES_IGNORE);
  MPI_Waitall(kCopies, sends, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kCopies; ++i) {
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    CHECK(got[i] == 100 * i + previous, "copy %d: got %d", i, got[i]);
    MPI_Comm_compare(copies_[i], MPI_COMM_WORLD, &results[i]);
    MPI_Comm_get_name(copies_[i], name, &length);
    CHECK(results[i] == MPI_CONGRUENT && length == 0, "copy %d: compared %d, name \"%s\"", i, results[i],
          name);
    MPI_Comm_free(&copies_[i]);
  }
#if MPI_VERSION >= 4
  /* Neither MPI_Comm_idup nor MPI_Comm_dup copies hints; MPI_Comm_idup_with_info gives its hints to the copy
   * (section 7.4.2). */
  MPI_Info info, used;
  char text[16];
  int room = sizeof text, flag;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_no_any_source", "true");
  MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &comm, &requests[0]);
  MPI_Info_set(info, "mpi_assert_no_any_source", "false");
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Info_free(&info);
  MPI_Comm_get_info(comm, &used);
  MPI_Info_get_string(used, "mpi_assert_no_any_source", &room, text, &flag);
  CHECK(!promised() || (flag && strcmp(text, "true") == 0), "the hint of MPI_Comm_idup_with_info");
  MPI_Info_free(&used);
  MPI_Comm_idup(comm, &copies_[0], &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Comm_get_info(copies_[0], &used);
  room = sizeof text;
  MPI_Info_get_string(used, "mpi_assert_no_any_source", &room, text, &flag);
  CHECK(!flag || strcmp(text, "true") != 0, "MPI_Comm_idup copies a hint");
  MPI_Info_free(&used);
  MPI_Comm_free(&copies_[0]);
  MPI_Comm_free(&comm);
#endif
}

/* Between the even and the odd ranks. */
static void test_intercommunicators(void) {
  if (size_ < 2) return;
  MPI_Comm half, inter, made = MPI_COMM_WORLD;
  MPI_Status status;
  MPI_Request request;
  const int low = rank_ % 2 == 0;
  int value = 7, got = -1, result, remote;
  MPI_Comm_split(MPI_COMM_WORLD, rank_ % 2, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? 1 : 0, 9, &inter);
  MPI_Comm_remote_size(inter, &remote);

  /* Messages to MPI_PROC_NULL. */
  MPI_Sendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, &got, 1, MPI_INT, MPI_PROC_NULL, 0, inter, &status);
  CHECK(got == -1 && status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG, "got %d", got);

  /* Rooted collectives: the root is the last odd rank. Arguments that are not significant may be anything. */
  int half_rank, half_size;
  MPI_Comm_rank(half, &half_rank);
  MPI_Comm_size(half, &half_size);
  const int root_rank = low ? remote - 1 : half_size - 1;
  const int root = low ? root_rank : half_rank == root_rank ? MPI_ROOT : MPI_PROC_NULL;
  int many[64] = {0}, word = root == MPI_ROOT ? 42 : -1;
  const int significant = low || root == MPI_ROOT;
  MPI_Bcast(significant ? &word : NULL, significant ? 1 : 0, MPI_INT, root, inter);
  CHECK(word == (significant ? 42 : -1), "broadcast %d", word);
  MPI_Gather(low ? &rank_ : NULL, low ? 1 : 0, MPI_INT, root == MPI_ROOT ? many : NULL, 1, MPI_INT, root,
             inter);
  for (int i = 0; root == MPI_ROOT && i < remote; ++i)
    CHECK(many[i] == 2 * i, "gathered %d from %d", many[i], i);
  for (int i = 0; i < 64; ++i) many[i] = 10 * i;
  MPI_Scatter(root == MPI_ROOT ? many : NULL, 1, MPI_INT, low ? &got : NULL, low ? 1 : 0, MPI_INT, root,
              inter);
  CHECK(!low || got == 10 * half_rank, "scattered %d", got);
  got = -1;
  MPI_Ireduce(low ? &value : NULL, root == MPI_ROOT ? &got : NULL, 1, MPI_INT, MPI_SUM, root, inter,
              &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(got == (root == MPI_ROOT ? 7 * remote : -1), "reduced to %d", got);
  MPI_Barrier(inter);

  /* If one group is empty, no rank gets a communicator (section 7.6). */
  MPI_Comm_split(inter, low ? MPI_UNDEFINED : 0, 0, &made);
  CHECK(made == MPI_COMM_NULL, "a split with one side only");
  MPI_Group mine;
  MPI_Comm_group(inter, &mine);
  made = MPI_COMM_WORLD;
  MPI_Comm_create(inter, low ? mine : MPI_GROUP_EMPTY, &made);
  CHECK(made == MPI_COMM_NULL, "an intercommunicator with one side only");
  MPI_Group_free(&mine);

  MPI_Comm_idup(inter, &made, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_compare(inter, made, &result);
  CHECK(result == MPI_CONGRUENT, "a duplicate: %d", result);
  MPI_Comm_compare(inter, half, &result);
  CHECK(result == MPI_UNEQUAL, "compared with one side: %d", result);
  MPI_Comm_free(&made);
  /* If both groups pass the same value, the order of the groups is open, but not the membership. */
  for (int high = 0; high < 2; ++high) {
    MPI_Intercomm_merge(inter, high, &made);
    CHECK(sum_over(made) == size_, "a merged communicator");
    MPI_Comm_free(&made);
  }
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

static void expect_info(MPI_Info info, const char* key, int room, const char* want, int needed) {
  char text[64];
  int length = room, flag = 0;
  memset(text, '#', sizeof text);
  MPI_Info_get_string(info, key, &length, text, &flag);
  CHECK(flag && length == needed, "\"%s\": room needed %d, not %d", key, length, needed);
  if (room > 0) CHECK(strcmp(text, want) == 0, "\"%s\" in %d: \"%s\"", key, room, text);
  CHECK(text[room] == '#', "\"%s\" in %d: written beyond", key, room);
}

static void test_info(void) {
  MPI_Info info, copy;
  char key[MPI_MAX_INFO_KEY + 1], name[MPI_MAX_INFO_KEY + 1];
  int keys, flag, length;
  MPI_Info_create(&info);
  MPI_Info_set(info, "b", "two words ");
  MPI_Info_set(info, "a", "1");
  MPI_Info_set(info, "A", "2"); /* another key */
  MPI_Info_set(info, "b", " three words ");
  MPI_Info_get_nkeys(info, &keys);
  CHECK(keys == 3, "%d keys", keys);
#if MPI_VERSION >= 4
  expect_info(info, "b", 32, " three words ", 14);
  expect_info(info, "b", 14, " three words ", 14);
  expect_info(info, "b", 4, " th", 14);
  expect_info(info, "b", 1, "", 14);
  expect_info(info, "b", 0, "", 14);
#endif
  length = 5;
  MPI_Info_get_valuelen(info, "none", &length, &flag);
  CHECK(!flag && length == 5, "the length of no value: %d", length);
  MPI_Info_dup(info, &copy);
  MPI_Info_delete(info, "b");
  MPI_Info_get_nkeys(info, &keys);
  CHECK(keys == 2, "%d keys after one has gone", keys);
  MPI_Info_get_nkeys(copy, &keys);
  CHECK(keys == 3, "%d keys in the copy", keys);
  /* The order of keys in a copy is the same (section 10). */
  for (int i = 0; i < 3; ++i) {
    MPI_Info_get_nthkey(copy, i, name);
    MPI_Info_get_valuelen(copy, name, &length, &flag);
    CHECK(flag && length == (strcmp(name, "b") == 0 ? 13 : 1), "key %d: \"%s\"", i, name);
  }
  MPI_Info_free(&copy);
  CHECK(copy == MPI_INFO_NULL, "not set to null");
  CHECK(class_of(MPI_Info_delete(info, "b")) == MPI_ERR_INFO_NOKEY, "deleted twice");
  memset(key, 'k', sizeof key);
  key[MPI_MAX_INFO_KEY - 1] = 0;
  MPI_Info_set(info, key, "long");
  length = 0;
  MPI_Info_get_valuelen(info, key, &length, &flag);
  CHECK(flag && length == 4, "the longest key");
  char value[MPI_MAX_INFO_VAL + 1];
  memset(value, 'v', sizeof value);
  value[MPI_MAX_INFO_VAL - 1] = 0;
  MPI_Info_set(info, "a", value);
  MPI_Info_get_valuelen(info, "a", &length, &flag);
  CHECK(flag && length == MPI_MAX_INFO_VAL - 1, "the longest value: %d", length);
  if (promised()) {
    key[MPI_MAX_INFO_KEY - 1] = 'k';
    key[MPI_MAX_INFO_KEY] = 0;
    value[MPI_MAX_INFO_VAL - 1] = 'v';
    value[MPI_MAX_INFO_VAL] = 0;
    CHECK(class_of(MPI_Info_set(info, key, "x")) == MPI_ERR_INFO_KEY, "a key that is too long");
    CHECK(class_of(MPI_Info_set(info, "", "x")) == MPI_ERR_INFO_KEY, "an empty key");
    CHECK(class_of(MPI_Info_set(info, "x", value)) == MPI_ERR_INFO_VALUE, "a value that is too long");
    CHECK(class_of(MPI_Info_get_nthkey(info, 3, name)) == MPI_ERR_ARG, "a key behind the last");
  }
  MPI_Info_free(&info);
}

/* Every class has a text and is its own class; the same holds for added ones. */
static void test_error_classes(void) {
  char text[MPI_MAX_ERROR_STRING];
  int length, error_class, error_code, *last, flag;
  for (int i = MPI_SUCCESS; i < MPI_ERR_UNKNOWN; ++i) {
    length = 0;
    if (class_of(i) != i) continue; /* not all numbers are classes in every library */
    MPI_Error_string(i, text, &length);
    CHECK(length > 0 && (int)strlen(text) == length, "class %d has no words", i);
  }
  MPI_Add_error_class(&error_class);
  MPI_Add_error_code(error_class, &error_code);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
  CHECK(flag && *last >= error_class && *last >= error_code, "the last code is %d", *last);
  CHECK(class_of(error_code) == error_class && class_of(error_class) == error_class, "class %d of code %d",
        class_of(error_code), error_code);
  length = -1;
  MPI_Error_string(error_code, text, &length);
  CHECK(length == 0 && text[0] == 0, "a text that the program has not set: \"%s\"", text);
  MPI_Add_error_string(error_code, "our own words");
  MPI_Error_string(error_code, text, &length);
  CHECK(strcmp(text, "our own words") == 0 && length == 13, "\"%s\"", text);
  MPI_Add_error_string(error_code, "");
  MPI_Error_string(error_code, text, &length);
  CHECK(length == 0, "words that were taken back: \"%s\"", text);
  /* Predefined classes keep their texts. */
  CHECK(MPI_Add_error_string(MPI_ERR_RANK, "mine") != MPI_SUCCESS, "the words of a predefined class");
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  test_groups_of_nobody();
  test_splits();
#if MPI_VERSION >= 4
  test_split_types();
#endif
  test_attributes();
  test_window_keys();
  test_duplicates();
  test_intercommunicators();
  test_info();
  test_error_classes();
  MPI_Finalize();
  return 0;
}
