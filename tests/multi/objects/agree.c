/* Agreement on communicators without all processes of a communicator: from groups alone, by the members, by
   leaders; in several threads at once. */
#include <pthread.h>

#include "../coll/check.h"

static MPI_Group world_;

static void check_works(MPI_Comm comm, int expected_size, const char* what) {
  int rank, size, total = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  CHECK(size == expected_size, "%s has %d ranks, not %d", what, size, expected_size);
  MPI_Allreduce(&rank, &total, 1, MPI_INT, MPI_SUM, comm);
  CHECK(total == size * (size - 1) / 2, "%s: the sum of ranks is %d", what, total);
}

static void test_comm(void) {
  MPI_Comm all, again, own;
  MPI_Info info, used;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
  MPI_Comm_create_from_group(world_, "hearth://test", info, MPI_ERRORS_RETURN, &all);
  MPI_Info_free(&info);
  check_works(all, size_, "all");
  /* The same string a second time creates another communicator. */
  MPI_Comm_create_from_group(world_, "hearth://test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &again);
  check_works(again, size_, "all again");
  int result = -1, keys = 0, class_ = 0;
  MPI_Comm_compare(all, again, &result);
  CHECK(result == MPI_CONGRUENT, "two of one group: %d", result);
  MPI_Comm_get_info(all, &used);
  MPI_Info_get_nkeys(used, &keys);
  CHECK(keys >= 1, "no hints");
  MPI_Info_free(&used);
  MPI_Error_class(MPI_Send(&keys, 1, MPI_INT, size_, 0, all), &class_);
  CHECK(class_ == MPI_ERR_RANK, "the error handler given is not in force");
  /* Each half by itself, in reverse order; the halves do not wait for each other. */
  int ranges[1][3] = {{rank_ % 2 + (size_ - 1 - rank_ % 2) / 2 * 2, rank_ % 2, -2}};
  MPI_Group half;
  MPI_Group_range_incl(world_, 1, ranges, &half);
  MPI_Comm_create_from_group(half, "half", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &own);
  check_works(own, (size_ + 1 - rank_ % 2) / 2, "a half");
  MPI_Group_free(&half);
  MPI_Comm_free(&own);
  MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "none", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &own);
  CHECK(own == MPI_COMM_NULL, "an empty group");
  MPI_Comm_free(&all);
  MPI_Comm_free(&again);
}

static void test_intercomm(const char* words) {
  if (size_ < 2) return;
  const int border = size_ / 2, is_low = rank_ < border;
  int low[1][3] = {{0, border - 1, 1}}, high[1][3] = {{border, size_ - 1, 1}};
  MPI_Group low_group, high_group;
  MPI_Group_range_incl(world_, 1, low, &low_group);
  MPI_Group_range_incl(world_, 1, high, &high_group);
  MPI_Comm inter, merged;
  const int local_leader = is_low ? border - 1 : 0;
  const int leads = is_low ? rank_ == border - 1 : rank_ == border;
  MPI_Group remote = leads || !promised() ? (is_low ? high_group : low_group) : MPI_GROUP_NULL;
  MPI_Intercomm_create_from_groups(is_low ? low_group : high_group, local_leader, remote,
                                   is_low ? 0 : border - 1, words, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                                   &inter);
  int size, remote_size, value = -1;
  MPI_Comm_size(inter, &size);
  MPI_Comm_remote_size(inter, &remote_size);
  CHECK(size == (is_low ? border : size_ - border) && size + remote_size == size_, "%d and %d ranks", size,
        remote_size);
  int rank;
  MPI_Comm_rank(inter, &rank);
  if (rank < remote_size && rank < size) {
    MPI_Status status;
    MPI_Sendrecv(&rank_, 1, MPI_INT, rank, 0, &value, 1, MPI_INT, MPI_ANY_SOURCE, 0, inter, &status);
    CHECK(value == (is_low ? border + rank : rank) && status.MPI_SOURCE == rank, "%d came", value);
  }
  MPI_Intercomm_merge(inter, !is_low, &merged);
  check_works(merged, size_, "merged");
  MPI_Comm_free(&merged);
  MPI_Comm_free(&inter);
  MPI_Group_free(&low_group);
  MPI_Group_free(&high_group);
}

/* The threads of a rank come in any order; the string identifies each of them. */
enum { kThreads = 4, kTurns = 20 };

static void check_own(MPI_Comm comm, int value, const char* what) {
  int least = -1, most = -1;
  MPI_Allreduce(&value, &least, 1, MPI_INT, MPI_MIN, comm);
  MPI_Allreduce(&value, &most, 1, MPI_INT, MPI_MAX, comm);
  CHECK(least == value && most == value, "%s: threads %d to %d share a communicator", what, least, most);
}

/* Each half creates a communicator, and the leaders of both create one between them, all under the thread's
 * tag. */
static void test_tags(int tag) {
  const int border = (size_ + 1) / 2, is_low = rank_ < border;
  int range[1][3] = {{is_low ? 0 : border, is_low ? border - 1 : size_ - 1, 1}};
  MPI_Group group;
  MPI_Comm half, inter, merged;
  MPI_Group_range_incl(world_, 1, range, &group);
  MPI_Comm_create_group(MPI_COMM_WORLD, group, tag, &half);
  MPI_Group_free(&group);
  check_own(half, tag, "a half");
  if (size_ > 1) {
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_low ? border : 0, tag, &inter);
    MPI_Intercomm_merge(inter, !is_low, &merged);
    check_own(merged, tag, "both halves");
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
  }
  MPI_Comm_free(&half);
}

static void* run_thread(void* argument) {
  const int number = (int)(size_t)argument;
  char words[32];
  snprintf(words, sizeof words, "thread %d", number);
  for (int turn = 0; turn < kTurns; ++turn) {
    MPI_Comm comm;
    MPI_Comm_create_from_group(world_, words, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    check_own(comm, number * 1000 + turn, "all");
    MPI_Comm_free(&comm);
    if (turn % 5 == number) test_intercomm(words);
    test_tags(number);
  }
  return NULL;
}

static void test_errors(void) {
  MPI_Comm made;
  char longer[MPI_MAX_STRINGTAG_LEN + 2];
  memset(longer, 'x', sizeof longer);
  longer[sizeof longer - 1] = 0;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  int code = MPI_Comm_create_from_group(world_, longer, MPI_INFO_NULL, MPI_ERRORS_RETURN, &made);
  CHECK(class_of(code) == MPI_ERR_ARG, "a long stringtag: class %d", class_of(code));
  code = MPI_Intercomm_create_from_groups(world_, 0, world_, 0, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made);
  CHECK(class_of(code) == (rank_ == 0 ? MPI_ERR_GROUP : MPI_ERR_OTHER), "the same groups: class %d",
        class_of(code));
  if (rank_ != 0) {
    int zero = 0;
    MPI_Group first;
    MPI_Group_incl(world_, 1, &zero, &first);
    code = MPI_Comm_create_from_group(first, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made);
    CHECK(class_of(code) == MPI_ERR_GROUP, "a group of others: class %d", class_of(code));
    MPI_Group_free(&first);
  }
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm_group(MPI_COMM_WORLD, &world_);
  test_comm();
  test_intercomm("inter");
  pthread_t threads[kThreads];
  for (size_t i = 0; i < kThreads; ++i) {
    const size_t number = (i + (size_t)rank_) % kThreads;
    pthread_create(&threads[i], NULL, run_thread, (void*)number);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  if (promised()) test_errors();
  MPI_Group_free(&world_);
  MPI_Finalize();
  return 0;
}
