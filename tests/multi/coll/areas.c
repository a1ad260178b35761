/* Communicators are created and freed, more at a time than there are collective regions, in orders that
 * differ between the ranks: each communicator's collectives are its own, with or without a region. */
#include "check.h"

enum { kMany = 80 };

/* A few collectives on a communicator, with values that no other communicator uses. */
static void use(MPI_Comm comm, int seed) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  int sum = -1;
  const int own = seed + rank;
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm);
  CHECK(sum == size * seed + size * (size - 1) / 2, "seed %d: sum %d", seed, sum);
  int word = rank == seed % size ? seed : -1;
  MPI_Bcast(&word, 1, MPI_INT, seed % size, comm);
  CHECK(word == seed, "seed %d: broadcast %d", seed, word);
  MPI_Barrier(comm);
}

static void free_in_own_order(MPI_Comm* comms, int count) {
  for (int i = 0; i < count; ++i) MPI_Comm_free(&comms[(i * 7 + rank_ * 3) % count]);
}

static void test_many_at_once(void) {
  static MPI_Comm comms[kMany];
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kMany; ++i) MPI_Comm_dup(i < 5 ? MPI_COMM_WORLD : comms[i - 5], &comms[i]);
    for (int i = 0; i < kMany; ++i) use(comms[i], round * 1000 + i);
    for (int i = kMany - 1; i >= 0; i -= 3) use(comms[i], round * 1000 + 500 + i);
    /* 7 and 80 have no common divisor, so each is freed once. */
    free_in_own_order(comms, kMany);
  }
}

/* Freed while other ranks are still in a collective, and created again at once. */
static void test_one_after_another(void) {
  for (int round = 0; round < 300; ++round) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    int word = rank_ == round % size_ ? round : -1;
    MPI_Bcast(&word, 1, MPI_INT, round % size_, comm);
    CHECK(word == round, "round %d: broadcast %d", round, word);
    if (round % 3 != 0) use(comm, round);
    MPI_Comm_free(&comm);
  }
}

/* Parts that are used side by side; some ranks are in none, some parts are never used. */
static void test_parts(void) {
  for (int round = 0; round < 100; ++round) {
    MPI_Comm part;
    const int color = (rank_ + round) % 4 == 3 ? MPI_UNDEFINED : (rank_ * 5 + round) % 3;
    MPI_Comm_split(MPI_COMM_WORLD, color, -rank_, &part);
    CHECK((part == MPI_COMM_NULL) == (color == MPI_UNDEFINED), "round %d: color %d", round, color);
    if (part == MPI_COMM_NULL) continue;
    if (round % 5 != 0) use(part, 100 * round + color);
    MPI_Comm again;
    MPI_Comm_dup(part, &again);
    use(again, 100 * round + color + 50);
    MPI_Comm_free(&part);
    use(again, 100 * round + color + 60);
    MPI_Comm_free(&again);
  }
}

static void test_groups(void) {
  MPI_Group all, some;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  for (int round = 0; round < 60; ++round) {
    int range[1][3] = {{round % size_, size_ - 1, 1}};
    MPI_Group_range_incl(all, 1, range, &some);
    MPI_Comm comm;
    MPI_Comm_create(MPI_COMM_WORLD, some, &comm);
    if (comm != MPI_COMM_NULL) {
      use(comm, round);
      MPI_Comm_free(&comm);
    }
    if (rank_ >= round % size_) {
      MPI_Comm_create_group(MPI_COMM_WORLD, some, round, &comm);
      use(comm, round + 1);
      MPI_Comm_free(&comm);
      MPI_Comm_create_from_group(some, "areas", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
      use(comm, round + 2);
      MPI_Comm_free(&comm);
    }
    MPI_Group_free(&some);
  }
  MPI_Group_free(&all);
}

static int refuse(MPI_Comm comm, int keyval, void* extra, void* value, void* copy, int* flag) {
  (void)comm, (void)keyval, (void)extra, (void)value, (void)copy;
  *flag = 0;
  return rank_ == size_ - 1 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/* On one rank the attribute's copy function fails: the other ranks get their duplicates and continue. The
 * standard leaves the state of these duplicates open (MPI 5.0 section 9.3); with other libraries they
 * hang. */
static void test_errors(void) {
  int keyval;
  MPI_Comm comm, copy;
  MPI_Comm_create_keyval(refuse, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_attr(comm, keyval, NULL);
  for (int round = 0; round < 40; ++round) {
    const int code = MPI_Comm_dup(comm, &copy);
    CHECK((code == MPI_SUCCESS) == (rank_ != size_ - 1), "round %d: code %d", round, code);
    if (code == MPI_SUCCESS) MPI_Comm_free(&copy);
  }
  MPI_Comm_free(&comm);
  MPI_Comm_free_keyval(&keyval);
  test_one_after_another();
}

/* Duplicates are created while other communicators are used. */
static void test_made_beside(void) {
  enum { kAtOnce = 6 };
  MPI_Comm comms[kAtOnce];
  MPI_Request requests[kAtOnce];
  for (int round = 0; round < 30; ++round) {
    for (int i = 0; i < kAtOnce; ++i) {
      MPI_Comm_idup(MPI_COMM_WORLD, &comms[i], &requests[i]);
      use(MPI_COMM_WORLD, round * 10 + i);
    }
    MPI_Waitall(kAtOnce, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kAtOnce; ++i) use(comms[i], round * 100 + i);
    for (int i = 0; i < kAtOnce; ++i) MPI_Comm_free(&comms[(i + rank_) % kAtOnce]);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  test_many_at_once();
  test_one_after_another();
  test_parts();
  test_groups();
  if (promised()) test_errors();
  test_made_beside();
  use(MPI_COMM_WORLD, 4711);
  MPI_Finalize();
  return 0;
}
