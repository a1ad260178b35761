/* Communicators: created in every way, separate from each other, freed; their groups, attributes, names and
 * hints. */
#include "../coll/check.h"

static int compare(MPI_Comm one, MPI_Comm other) {
  int result = -1;
  MPI_Comm_compare(one, other, &result);
  return result;
}

/* Checks that a communicator works: a sum over its ranks is right, and a message around its ring arrives. */
static void check_works(MPI_Comm comm, int expected_size, const char* what) {
  int rank, size, total = 0, from = -1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  CHECK(size == expected_size, "%s has %d ranks, not %d", what, size, expected_size);
  MPI_Allreduce(&rank, &total, 1, MPI_INT, MPI_SUM, comm);
  CHECK(total == size * (size - 1) / 2, "%s: the sum of ranks is %d", what, total);
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 3, &from, 1, MPI_INT, (rank + size - 1) % size, 3, comm,
               MPI_STATUS_IGNORE);
  CHECK(from == (rank + size - 1) % size, "%s: a message came from %d", what, from);
}

/* Messages of two communicators with the same processes and tags do not match. */
static void test_dup(void) {
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  CHECK(compare(copy, MPI_COMM_WORLD) == MPI_CONGRUENT, "a duplicate is not congruent");
  CHECK(compare(copy, copy) == MPI_IDENT, "a communicator is not itself");
  check_works(copy, size_, "a duplicate");
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  int first = 1, second = 2, got[2] = {0, 0};
  MPI_Request requests[2];
  MPI_Irecv(&got[0], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, copy, &requests[0]);
  MPI_Irecv(&got[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]);
  MPI_Send(&first, 1, MPI_INT, next, 5, MPI_COMM_WORLD);
  MPI_Send(&second, 1, MPI_INT, next, 5, copy);
  MPI_Status statuses[2];
  MPI_Waitall(2, requests, statuses);
  CHECK(got[0] == 2 && got[1] == 1, "messages of two communicators were mixed: %d %d", got[0], got[1]);
  CHECK(statuses[0].MPI_SOURCE == previous, "the source is %d", statuses[0].MPI_SOURCE);
  MPI_Comm_free(&copy);
  CHECK(copy == MPI_COMM_NULL, "Comm_free left a handle");
}

static void test_split(void) {
  MPI_Comm part;
  MPI_Comm_split(MPI_COMM_WORLD, rank_ % 3, -rank_, &part);
  const int expected = (size_ - rank_ % 3 + 2) / 3;
  check_works(part, expected, "a part");
  /* The order of keys is the reverse of the order of ranks. */
  int place = -1, world_rank = -1;
  MPI_Comm_rank(part, &place);
  CHECK(place == expected - 1 - rank_ / 3, "rank %d in the part", place);
  MPI_Group part_group, world_group;
  MPI_Comm_group(part, &part_group);
  MPI_Comm_group(MPI_COMM_WORLD, &world_group);
  MPI_Group_translate_ranks(part_group, 1, &place, world_group, &world_rank);
  CHECK(world_rank == rank_, "the part's rank translates to %d", world_rank);
  MPI_Group_free(&part_group);
  MPI_Group_free(&world_group);
  /* The parts share a context id, so their collectives run in the same one at the same time. */
  for (int turn = 0; turn < 20; ++turn) {
    int value = rank_ % 3 * 100 + turn, sum = 0;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, part);
    CHECK(sum == expected * value, "a sum over the part is %d", sum);
  }
  MPI_Comm_free(&part);

  MPI_Comm_split(MPI_COMM_WORLD, rank_ == 0 ? MPI_UNDEFINED : 7, 0, &part);
  CHECK((part == MPI_COMM_NULL) == (rank_ == 0), "MPI_UNDEFINED");
  if (part != MPI_COMM_NULL) {
    /* Equal keys keep the order of ranks. */
    MPI_Comm_rank(part, &place);
    CHECK(place == rank_ - 1, "rank %d among equal keys", place);
    check_works(part, size_ - 1, "all but one");
    MPI_Comm_free(&part);
  }
}

static void test_split_type(void) {
  MPI_Comm machine;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  check_works(machine, size_, "the machine");
  MPI_Comm_free(&machine);
  MPI_Comm_split_type(MPI_COMM_WORLD, rank_ % 2 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                      &machine);
  CHECK((machine == MPI_COMM_NULL) == (rank_ % 2 == 1), "MPI_UNDEFINED as split_type");
  if (machine != MPI_COMM_NULL) MPI_Comm_free(&machine);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory");
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &machine);
  check_works(machine, size_, "shared memory by info");
  MPI_Comm_free(&machine);
  MPI_Info_set(info, "mpi_hw_resource_type", "a_thing_that_is_not_there");
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &machine);
  CHECK(machine == MPI_COMM_NULL, "an unknown resource");
  MPI_Info_free(&info);
}

static MPI_Group group_of_parity(int parity) {
  MPI_Group world, group;
  int range[1][3] = {{parity, size_ - 1, 2}};
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  if (parity < size_) {
    MPI_Group_range_incl(world, 1, range, &group);
  } else {
    group = MPI_GROUP_EMPTY;
  }
  MPI_Group_free(&world);
  return group;
}

static void test_create(void) {
  /* All ranks pass the same group. */
  MPI_Group even = group_of_parity(0);
  MPI_Comm comm;
  MPI_Comm_create(MPI_COMM_WORLD, even, &comm);
  CHECK((comm != MPI_COMM_NULL) == (rank_ % 2 == 0), "Comm_create: who is in it");
  if (comm != MPI_COMM_NULL) {
    check_works(comm, (size_ + 1) / 2, "the even ranks");
    CHECK(compare(comm, MPI_COMM_WORLD) == (size_ == 1 ? MPI_CONGRUENT : MPI_UNEQUAL), "compared with all");
    MPI_Comm_free(&comm);
  }
  MPI_Group_free(&even);
  /* Disjoint groups in one call. */
  MPI_Group own = group_of_parity(rank_ % 2);
  MPI_Comm_create(MPI_COMM_WORLD, own, &comm);
  check_works(comm, (size_ + 1 - rank_ % 2) / 2, "each half");
  MPI_Comm_free(&comm);
  /* Only the members of the group call. */
  MPI_Comm first, second;
  MPI_Comm_create_group(MPI_COMM_WORLD, own, 17, &first);
  if (rank_ % 2 == 0) {
    MPI_Comm_create_group(MPI_COMM_WORLD, own, 18, &second);
    CHECK(compare(first, second) == MPI_CONGRUENT, "two communicators of one group");
    check_works(second, (size_ + 1) / 2, "the second of the even ranks");
    MPI_Comm_free(&second);
  }
  check_works(first, (size_ + 1 - rank_ % 2) / 2, "each half by itself");
  MPI_Comm_free(&first);
  MPI_Group_free(&own);
  /* The same processes in another order. */
  MPI_Comm reversed;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_, &reversed);
  CHECK(compare(reversed, MPI_COMM_WORLD) == (size_ == 1 ? MPI_CONGRUENT : MPI_SIMILAR), "reversed");
  MPI_Comm_free(&reversed);
}

/* Attributes. */

static int copies, deletes, last_deleted;

static int copy_attribute(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  CHECK(extra == (void*)&copies, "the extra state of a copy");
  (void)comm;
  (void)keyval;
  *(void**)out = (char*)in + 1;
  *flag = 1;
  ++copies;
  return MPI_SUCCESS;
}
static int delete_attribute(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm;
  (void)keyval;
  (void)extra;
  last_deleted = (int)(size_t)value;
  ++deletes;
  return MPI_SUCCESS;
}

static void test_attributes(void) {
  int key, unused, flag;
  void* value;
  MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, &copies);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &unused, NULL);
  CHECK(key != MPI_KEYVAL_INVALID && key != unused, "keys");
  MPI_Comm one, two;
  MPI_Comm_dup(MPI_COMM_WORLD, &one);
  MPI_Comm_set_attr(one, key, (void*)40);
  MPI_Comm_set_attr(one, unused, (void*)1);
  MPI_Comm_dup(one, &two);
  MPI_Comm_get_attr(two, key, &value, &flag);
  CHECK(flag && value == (void*)41 && copies == 1, "the copied attribute");
  MPI_Comm_get_attr(two, unused, &value, &flag);
  CHECK(!flag, "an attribute without copy function was copied");
  MPI_Comm_free(&two);
  CHECK(deletes == 1 && last_deleted == 41, "freeing deletes");
  MPI_Comm_delete_attr(one, key);
  CHECK(deletes == 2 && last_deleted == 40, "deleting");
  MPI_Comm_set_attr(one, key, (void*)50);
  const int number = key;
  MPI_Comm_free_keyval(&key);
  CHECK(key == MPI_KEYVAL_INVALID && deletes == 2, "freeing a key");
  MPI_Comm_set_errhandler(one, MPI_ERRORS_RETURN);
  if (promised()) {
    int class_ = 0;
    MPI_Error_class(MPI_Comm_set_attr(one, number, NULL), &class_);
    CHECK(class_ == MPI_ERR_KEYVAL, "a freed key");
    MPI_Error_class(MPI_Comm_set_attr(one, MPI_TAG_UB, NULL), &class_);
    CHECK(class_ == MPI_ERR_KEYVAL, "a predefined key");
  }
  MPI_Comm_free(&one);
  CHECK(deletes == 3 && last_deleted == 50, "the attribute of a freed key");
  MPI_Comm_free_keyval(&unused);
}

static void test_predefined_attributes(void) {
  int *value, flag;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
  CHECK(flag && *value >= (promised() ? 2147483647 : 32767), "MPI_TAG_UB");
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag);
  CHECK(promised() ? flag && *value >= size_ : !flag || *value >= 1, "MPI_UNIVERSE_SIZE");
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag);
  MPI_Comm machine;
  int machine_size;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  MPI_Comm_size(machine, &machine_size);
  MPI_Comm_free(&machine);
  CHECK(flag && (*value == (machine_size == size_) || !promised()), "MPI_WTIME_IS_GLOBAL");
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag);
  CHECK(flag && *value == 0, "MPI_APPNUM");
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &value, &flag);
  CHECK(flag && *value == MPI_ANY_SOURCE, "MPI_IO");
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &value, &flag);
  CHECK(flag && *value == MPI_PROC_NULL, "MPI_HOST");
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag);
  const int before = *value;
  int new_class;
  MPI_Add_error_class(&new_class);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag);
  CHECK(flag && before >= MPI_ERR_LASTCODE && *value == new_class, "MPI_LASTUSEDCODE");
}

static void test_names_and_hints(void) {
  char name[MPI_MAX_OBJECT_NAME];
  int length;
  MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
  CHECK(strcmp(name, "MPI_COMM_WORLD") == 0 && length == 14, "the name of all is %s", name);
#if MPI_VERSION >= 4
  MPI_Comm_get_name(MPI_COMM_NULL, name, &length);
  CHECK(strcmp(name, "MPI_COMM_NULL") == 0, "the name of none is %s", name);
#endif
  MPI_Info info, used;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_no_any_tag", "false");
  MPI_Comm comm, copy;
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
  MPI_Comm_get_name(comm, name, &length);
  CHECK(length == 0 && name[0] == 0, "a new communicator has a name");
  char long_name[2 * MPI_MAX_OBJECT_NAME];
  memset(long_name, 'x', sizeof long_name);
  long_name[sizeof long_name - 1] = 0;
  MPI_Comm_set_name(comm, long_name);
  MPI_Comm_get_name(comm, name, &length);
  CHECK(length == MPI_MAX_OBJECT_NAME - 1 && strlen(name) == (size_t)length, "a long name");
  MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
  MPI_Comm_set_info(comm, info);
  MPI_Comm_dup(comm, &copy);
  char text[16] = "";
  int flag, room = sizeof text;
  MPI_Comm_get_info(comm, &used);
  MPI_Info_get_string(used, "mpi_assert_no_any_tag", &room, text, &flag);
  CHECK(!promised() || (flag && strcmp(text, "true") == 0), "a hint is %s", text);
  MPI_Info_free(&used);
#if MPI_VERSION >= 4
  /* MPI_Comm_dup copies no hints (MPI 5.0 section 7.4.2). */
  MPI_Comm_get_info(copy, &used);
  MPI_Info_get_string(used, "mpi_assert_no_any_tag", &room, text, &flag);
  CHECK(!flag || strcmp(text, "true") != 0, "a hint of the copy is %s", text);
  MPI_Info_free(&used);
#endif
  MPI_Info_free(&info);
  MPI_Comm_free(&comm);
  MPI_Comm_free(&copy);
}

/* A freed communicator lives until its operations are complete; its handle does not. */
static void test_free_early(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const MPI_Comm stale = comm;
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  int got = -1;
  MPI_Request receiving, sending;
  MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 9, comm, &receiving);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Issend(&rank_, 1, MPI_INT, next, 9, comm, &sending);
  MPI_Comm_free(&comm);
  MPI_Status status;
  MPI_Wait(&receiving, &status);
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
  CHECK(got == previous && status.MPI_SOURCE == previous, "got %d from %d", got, status.MPI_SOURCE);
  if (!promised()) return;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  int class_ = 0, rank = -1;
  MPI_Error_class(MPI_Comm_rank(stale, &rank), &class_);
  CHECK(class_ == MPI_ERR_COMM && rank == -1, "a freed handle: class %d", class_);
  MPI_Comm all = MPI_COMM_WORLD;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Error_class(MPI_Comm_free(&all), &class_);
  CHECK(class_ == MPI_ERR_COMM && all == MPI_COMM_WORLD, "freeing MPI_COMM_WORLD: class %d", class_);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

/* Error handlers are inherited. Invalid arguments that all ranks pass alike are errors, and no rank hangs. */
static void test_errors(void) {
  MPI_Comm comm, made = MPI_COMM_WORLD;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm copy;
  MPI_Comm_dup(comm, &copy);
  int class_ = 0;
  MPI_Error_class(MPI_Comm_split(copy, -5, 0, &made), &class_);
  CHECK(class_ == MPI_ERR_ARG, "a negative color: class %d", class_);
  MPI_Error_class(MPI_Comm_split_type(copy, 12345, 0, MPI_INFO_NULL, &made), &class_);
  CHECK(class_ == MPI_ERR_ARG, "a wrong split_type: class %d", class_);
  /* Only one rank passes an invalid argument. */
  int code = MPI_Comm_split(copy, rank_ == size_ - 1 ? -5 : 1, 0, &made);
  CHECK((code == MPI_SUCCESS) == (rank_ != size_ - 1), "only the last rank fails");
  if (code == MPI_SUCCESS) MPI_Comm_free(&made);
  int remote;
  MPI_Error_class(MPI_Comm_remote_size(copy, &remote), &class_);
  CHECK(class_ == MPI_ERR_COMM, "the remote size of an intracommunicator: class %d", class_);
  if (size_ > 1) {
    MPI_Comm self_copy;
    MPI_Comm_dup(MPI_COMM_SELF, &self_copy);
    MPI_Comm_set_errhandler(self_copy, MPI_ERRORS_RETURN);
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Error_class(MPI_Comm_create(self_copy, world, &made), &class_);
    CHECK(class_ == MPI_ERR_GROUP, "a group from outside: class %d", class_);
    MPI_Group_free(&world);
    MPI_Comm_free(&self_copy);
  }
  MPI_Comm_free(&copy);
  MPI_Comm_free(&comm);
}

/* A send whose request was freed is complete once the communicator is gone. */
static void test_disconnect(void) {
  enum { length = 50000 };
  static int out[length], in[length];
  MPI_Comm comm;
  MPI_Request sending, receiving;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int i = 0; i < length; ++i) out[i] = rank_ + i;
  MPI_Irecv(in, length, MPI_INT, (rank_ + size_ - 1) % size_, 1, comm, &receiving);
  MPI_Isend(out, length, MPI_INT, (rank_ + 1) % size_, 1, comm, &sending);
  MPI_Request_free(&sending);
  MPI_Wait(&receiving, MPI_STATUS_IGNORE);
  MPI_Comm_disconnect(&comm);
  CHECK(comm == MPI_COMM_NULL, "the handle stays");
  memset(out, 0, sizeof out);
  for (int i = 0; i < length; ++i)
    CHECK(in[i] == (rank_ + size_ - 1) % size_ + i, "number %d is %d", i, in[i]);
}

static int finalized_in_order = 1, self_deletes;
static int delete_of_self(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)keyval;
  (void)extra;
  /* Deleted in reverse order of setting, while MPI still works. */
  int size = 0;
  MPI_Comm_size(comm, &size);
  if ((int)(size_t)value != 2 - self_deletes || size != 1) finalized_in_order = 0;
  ++self_deletes;
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  check_works(MPI_COMM_WORLD, size_, "all");
  check_works(MPI_COMM_SELF, 1, "this rank");
  int inter = 1;
  MPI_Comm_test_inter(MPI_COMM_WORLD, &inter);
  CHECK(!inter, "MPI_COMM_WORLD is an intercommunicator");
  test_dup();
  test_split();
  test_split_type();
  test_create();
  test_attributes();
  test_predefined_attributes();
  test_names_and_hints();
  test_free_early();
  test_disconnect();
  if (promised()) test_errors();
  for (int turn = 0; turn < 300; ++turn) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_free(&comm);
  }
  int keys[3];
  for (int i = 0; i < 3; ++i) MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_of_self, &keys[i], NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, keys[1], (void*)0);
  MPI_Comm_set_attr(MPI_COMM_SELF, keys[0], (void*)1);
  MPI_Comm_set_attr(MPI_COMM_SELF, keys[2], (void*)2);
  MPI_Finalize();
  return self_deletes == 3 && finalized_in_order ? 0 : 1;
}
