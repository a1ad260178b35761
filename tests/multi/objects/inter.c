/* Intercommunicators: created in every way, queried, used for messages, merged. */
#include "../coll/check.h"

static int is_low(void) {
  return rank_ < (size_ + 1) / 2;
}
static int low_size(void) {
  return (size_ + 1) / 2;
}
static int remote_size_of(void) {
  return is_low() ? size_ - low_size() : low_size();
}
/* The world rank of a rank of the remote group. */
static int remote_world_rank(int rank) {
  return is_low() ? low_size() + rank : rank;
}

static int compare(MPI_Comm one, MPI_Comm other) {
  int result = -1;
  MPI_Comm_compare(one, other, &result);
  return result;
}

/* The lower and the upper half of all ranks. */
static MPI_Comm make_half(void) {
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, is_low(), rank_, &half);
  return half;
}

static MPI_Comm make_inter(MPI_Comm half, int tag) {
  MPI_Comm inter;
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_low() ? low_size() : 0, tag, &inter);
  return inter;
}

/* Each process sends to each process of the remote group; `world_ranks`: the expected ranks of that group in
 * MPI_COMM_WORLD. */
static void check_messages(MPI_Comm inter, int remotes, const int* world_ranks, int tag, const char* what) {
  int remote_size, is_inter;
  MPI_Comm_test_inter(inter, &is_inter);
  MPI_Comm_remote_size(inter, &remote_size);
  CHECK(is_inter && remote_size == remotes, "%s: %d remote ranks, not %d", what, remote_size, remotes);
  int* got = malloc(sizeof(int) * (size_t)(2 * remotes));
  MPI_Request* requests = malloc(sizeof(MPI_Request) * (size_t)(2 * remotes));
  for (int r = 0; r < remotes; ++r) {
    MPI_Irecv(&got[r], 1, MPI_INT, r, tag, inter, &requests[r]);
    MPI_Isend(&rank_, 1, MPI_INT, r, tag, inter, &requests[remotes + r]);
  }
  MPI_Status* statuses = malloc(sizeof(MPI_Status) * (size_t)(2 * remotes));
  MPI_Waitall(2 * remotes, requests, statuses);
  for (int r = 0; r < remotes; ++r) {
    CHECK(got[r] == world_ranks[r], "%s: rank %d of the others is %d, not %d", what, r, got[r],
          world_ranks[r]);
    CHECK(statuses[r].MPI_SOURCE == r, "%s: the source is %d, not %d", what, statuses[r].MPI_SOURCE, r);
  }
  /* The same with MPI_ANY_SOURCE. */
  for (int r = 0; r < remotes; ++r) MPI_Isend(&rank_, 1, MPI_INT, r, tag + 20, inter, &requests[r]);
  for (int r = 0; r < remotes; ++r) {
    int value = -1;
    MPI_Status status;
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, tag + 20, inter, &status);
    CHECK(status.MPI_SOURCE >= 0 && status.MPI_SOURCE < remotes, "%s: source %d", what, status.MPI_SOURCE);
    CHECK(value == world_ranks[status.MPI_SOURCE], "%s: %d came from %d", what, value, status.MPI_SOURCE);
  }
  MPI_Waitall(remotes, requests, MPI_STATUSES_IGNORE);
  free(got);
  free(requests);
  free(statuses);
}

static void check_halves(MPI_Comm inter, const char* what) {
  int world_ranks[64];
  for (int r = 0; r < remote_size_of(); ++r) world_ranks[r] = remote_world_rank(r);
  check_messages(inter, remote_size_of(), world_ranks, 7, what);
}

static void test_create(void) {
  MPI_Comm half = make_half(), peer;
  int half_rank, rank, size;
  MPI_Comm_rank(half, &half_rank);
  MPI_Comm inter = make_inter(half, 12);
  MPI_Comm_rank(inter, &rank);
  MPI_Comm_size(inter, &size);
  CHECK(rank == half_rank && size == size_ - remote_size_of(), "rank %d of %d", rank, size);
  check_halves(inter, "halves");
  MPI_Group local, remote, own, all, both;
  MPI_Comm_group(inter, &local);
  MPI_Comm_remote_group(inter, &remote);
  MPI_Comm_group(half, &own);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  int result;
  MPI_Group_compare(local, own, &result);
  CHECK(result == MPI_IDENT, "the local group");
  MPI_Group_union(local, remote, &both);
  MPI_Group_compare(both, all, &result);
  CHECK(result == (is_low() ? MPI_IDENT : MPI_SIMILAR), "both groups are not all ranks: %d", result);
  MPI_Group_free(&local);
  MPI_Group_free(&remote);
  MPI_Group_free(&own);
  MPI_Group_free(&all);
  MPI_Group_free(&both);

  /* Leaders that are not the first rank, and a peer communicator in another order that only the leaders
   * pass. */
  MPI_Comm reversed;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_, &reversed);
  const int leader = size - 1;
  const int remote_leader_world = is_low() ? size_ - 1 : low_size() - 1;
  peer = half_rank == leader ? reversed : MPI_COMM_NULL;
  MPI_Comm second;
  MPI_Intercomm_create(half, leader, peer, size_ - 1 - remote_leader_world, 3, &second);
  check_halves(second, "other leaders");
  CHECK(compare(inter, second) == MPI_CONGRUENT, "two with the same groups: %d", compare(inter, second));
  CHECK(compare(inter, half) == MPI_UNEQUAL, "compared with an intracommunicator");
  MPI_Comm_free(&reversed);
  MPI_Comm_free(&second);
  /* The local communicator may be freed. */
  MPI_Comm_free(&half);
  check_halves(inter, "without the local communicator");
  MPI_Comm_free(&inter);
  CHECK(inter == MPI_COMM_NULL, "Comm_free left a handle");
}

/* The copy of an attribute is the original plus one. */
static int copy_attribute(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)comm;
  (void)keyval;
  (void)extra;
  *(void**)out = (char*)in + 1;
  *flag = 1;
  return MPI_SUCCESS;
}

static void test_dup(MPI_Comm inter) {
  MPI_Comm copy, hinted;
  int key, flag;
  void* value = NULL;
  MPI_Comm_create_keyval(copy_attribute, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_set_attr(inter, key, (void*)20);
  MPI_Comm_dup(inter, &copy);
  CHECK(compare(inter, copy) == MPI_CONGRUENT, "a duplicate: %d", compare(inter, copy));
  MPI_Comm_get_attr(copy, key, &value, &flag);
  CHECK(flag && value == (void*)21, "the copied attribute");
  MPI_Comm_delete_attr(inter, key);
  MPI_Comm_free_keyval(&key);
  check_halves(copy, "a duplicate");
  /* Messages of the two communicators do not match. */
  int first = 1, second = 2, got[2] = {0, 0};
  MPI_Request requests[4];
  int rank, partners = low_size() < size_ - low_size() ? low_size() : size_ - low_size();
  MPI_Comm_rank(inter, &rank);
  if (rank < partners) {
    MPI_Irecv(&got[0], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, copy, &requests[0]);
    MPI_Irecv(&got[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &requests[1]);
    MPI_Isend(&first, 1, MPI_INT, rank, 5, inter, &requests[2]);
    MPI_Isend(&second, 1, MPI_INT, rank, 5, copy, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    CHECK(got[0] == 2 && got[1] == 1, "messages of two communicators were mixed: %d %d", got[0], got[1]);
  }
  MPI_Comm_free(&copy);
  MPI_Info info, used;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
  MPI_Comm_dup_with_info(inter, info, &hinted);
  MPI_Comm_get_info(hinted, &used);
  int keys = 0;
  MPI_Info_get_nkeys(used, &keys);
  CHECK(keys >= 1, "no hints");
  MPI_Info_free(&used);
  MPI_Info_free(&info);
  MPI_Comm_free(&hinted);
}

/* Ranks of both groups in a few colors, in reverse order. */
static void test_split(MPI_Comm inter) {
  int rank;
  MPI_Comm part;
  MPI_Comm_rank(inter, &rank);
  MPI_Comm_split(inter, rank % 2, -rank, &part);
  int remotes = 0, world_ranks[64];
  for (int r = remote_size_of() - 1; r >= 0; --r) {
    if (r % 2 == rank % 2) world_ranks[remotes++] = remote_world_rank(r);
  }
  CHECK((part == MPI_COMM_NULL) == (remotes == 0), "a part with %d remote ranks", remotes);
  if (part != MPI_COMM_NULL) {
    check_messages(part, remotes, world_ranks, 8, "a part");
    MPI_Comm_free(&part);
  }
  /* A color that only one group uses. */
  MPI_Comm_split(inter, is_low(), 0, &part);
  CHECK(part == MPI_COMM_NULL, "a part of one side");
  /* Rank 0 takes no part. */
  MPI_Comm_split(inter, rank == 0 ? MPI_UNDEFINED : 4, 0, &part);
  const int others = remote_size_of() - 1;
  CHECK((part == MPI_COMM_NULL) == (rank == 0 || others == 0), "without the first ones");
  if (part != MPI_COMM_NULL) {
    for (int r = 0; r < others; ++r) world_ranks[r] = remote_world_rank(r + 1);
    check_messages(part, others, world_ranks, 9, "without the first ones");
    MPI_Comm_free(&part);
  }
}

/* The last rank of each group. */
static void test_create_from_group(MPI_Comm inter) {
  MPI_Group local, last;
  MPI_Comm made;
  int rank, size;
  MPI_Comm_rank(inter, &rank);
  MPI_Comm_size(inter, &size);
  MPI_Comm_group(inter, &local);
  const int chosen = size - 1;
  MPI_Group_incl(local, 1, &chosen, &last);
  MPI_Comm_create(inter, last, &made);
  CHECK((made == MPI_COMM_NULL) == (rank != size - 1), "who is in it");
  if (made != MPI_COMM_NULL) {
    const int partner = remote_world_rank(remote_size_of() - 1);
    check_messages(made, 1, &partner, 10, "the last ones");
    MPI_Comm_free(&made);
  }
  /* One group is empty. */
  MPI_Comm_create(inter, is_low() ? last : MPI_GROUP_EMPTY, &made);
  CHECK(made == MPI_COMM_NULL, "an empty side");
  MPI_Group_free(&local);
  MPI_Group_free(&last);
}

static void check_merged(MPI_Comm merged, int low_first) {
  int rank, size, sum = 0, expected = rank_;
  MPI_Comm_rank(merged, &rank);
  MPI_Comm_size(merged, &size);
  if (!low_first) expected = is_low() ? rank_ + size_ - low_size() : rank_ - low_size();
  CHECK(size == size_ && rank == expected, "rank %d of %d, not %d", rank, size, expected);
  MPI_Allreduce(&rank_, &sum, 1, MPI_INT, MPI_SUM, merged);
  CHECK(sum == size_ * (size_ - 1) / 2, "a sum over the merged is %d", sum);
}

static void test_merge(MPI_Comm inter) {
  MPI_Comm merged;
  MPI_Intercomm_merge(inter, !is_low(), &merged);
  check_merged(merged, 1);
  MPI_Comm_free(&merged);
  MPI_Intercomm_merge(inter, is_low(), &merged);
  check_merged(merged, 0);
  MPI_Comm_free(&merged);
  /* The same value on both sides: the order is open, but the same everywhere. */
  MPI_Intercomm_merge(inter, 1, &merged);
  int rank, first;
  MPI_Comm_rank(merged, &rank);
  first = rank == 0 && is_low();
  MPI_Bcast(&first, 1, MPI_INT, 0, merged);
  check_merged(merged, first);
  MPI_Comm_free(&merged);
}

/* Errors that all ranks make alike. */
static void test_errors(MPI_Comm inter) {
  MPI_Comm half = make_half(), made = MPI_COMM_NULL;
  MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  CHECK(class_of(MPI_Intercomm_create(half, 99, MPI_COMM_WORLD, 0, 1, &made)) == MPI_ERR_RANK,
        "local_leader");
  CHECK(class_of(MPI_Intercomm_create(inter, 0, MPI_COMM_WORLD, 0, 1, &made)) == MPI_ERR_COMM, "local_comm");
  int code = class_of(MPI_Intercomm_create(half, 0, MPI_COMM_NULL, 0, 1, &made));
  int rank;
  MPI_Comm_rank(half, &rank);
  CHECK(code == (rank == 0 ? MPI_ERR_COMM : MPI_ERR_OTHER), "peer_comm: class %d", code);
  code = class_of(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, size_, 1, &made));
  CHECK(code == (rank == 0 ? MPI_ERR_RANK : MPI_ERR_OTHER), "remote_leader: class %d", code);
  CHECK(class_of(MPI_Intercomm_merge(half, 0, &made)) == MPI_ERR_COMM, "merging an intracommunicator");
  MPI_Group group;
  MPI_Comm_group(inter, &group);
  CHECK(class_of(MPI_Comm_create_group(inter, group, 1, &made)) == MPI_ERR_COMM, "MPI_Comm_create_group");
  MPI_Group_free(&group);
  int value = 0;
  CHECK(class_of(MPI_Send(&value, 1, MPI_INT, remote_size_of(), 1, inter)) == MPI_ERR_RANK,
        "a rank too high");
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  if (size_ > 1) {
    test_create();
    MPI_Comm half = make_half();
    MPI_Comm inter = make_inter(half, 0);
    test_dup(inter);
    test_split(inter);
    test_create_from_group(inter);
    test_merge(inter);
    if (promised()) test_errors(inter);
    for (int turn = 0; turn < 50; ++turn) {
      MPI_Comm copy, merged;
      MPI_Comm_dup(inter, &copy);
      MPI_Intercomm_merge(copy, is_low(), &merged);
      MPI_Comm_free(&copy);
      MPI_Comm_free(&merged);
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
  }
  MPI_Finalize();
  return 0;
}
