/* Persistent collectives: started repeatedly in orders that differ between ranks, with other collectives in
 * flight; created, left unused and freed by the thousand; more of them than there are collective regions. */
#include "check.h"

enum { kOperations = 14, kShort = 5, kLong = 3000, kTurns = 300, kMany = 40, kMadeAndFreed = 1000 };

static int value_of(int what, int rank, int turn, int index) {
  return what * 100003 + rank * 1009 + turn * 17 + index;
}

/* Operation k is one of five kinds, short or long. */
typedef struct {
  MPI_Request request;
  int kind, length, root;
  int *in, *out;
} Operation;

static Operation make(int k, MPI_Comm comm) {
  Operation made = {.kind = k % 5, .length = k % 3 == 2 ? kLong : kShort, .root = k % size_};
  Operation* o = &made;
  o->in = calloc((size_t)(o->length * size_), sizeof(int));
  o->out = calloc((size_t)(o->length * size_), sizeof(int));
  switch (o->kind) {
    case 0:
      MPI_Bcast_init(o->out, o->length, MPI_INT, o->root, comm, MPI_INFO_NULL, &o->request);
      break;
    case 1:
      MPI_Allreduce_init(o->in, o->out, o->length, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &o->request);
      break;
    case 2:
      MPI_Allgather_init(o->in, o->length, MPI_INT, o->out, o->length, MPI_INT, comm, MPI_INFO_NULL,
                         &o->request);
      break;
    case 3:
      MPI_Gather_init(o->in, o->length, MPI_INT, o->out, o->length, MPI_INT, o->root, comm, MPI_INFO_NULL,
                      &o->request);
      break;
    default:
      MPI_Scan_init(o->in, o->out, o->length, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &o->request);
  }
  return made;
}

static void discard(Operation* o) {
  MPI_Request_free(&o->request);
  free(o->in);
  free(o->out);
}

static void fill(Operation* o, int k, int turn) {
  for (int i = 0; i < o->length; ++i) o->in[i] = value_of(k, rank_, turn, i);
  for (int i = 0; i < o->length * size_; ++i) o->out[i] = -1;
  if (o->kind == 0 && rank_ == o->root) memcpy(o->out, o->in, (size_t)o->length * sizeof(int));
}

static void check(const Operation* o, int k, int turn) {
  for (int i = 0; i < o->length * size_; ++i) {
    const int first = i < o->length;
    int expected = -1, ranks = o->kind == 1 ? size_ : rank_ + 1;
    if (o->kind == 0 && (first || (rank_ == o->root && i < o->length)))
      expected = value_of(k, o->root, turn, i);
    if ((o->kind == 1 || o->kind == 4) && first) {
      expected = 0;
      for (int rank = 0; rank < ranks; ++rank) expected += value_of(k, rank, turn, i);
    }
    if (o->kind == 2 || (o->kind == 3 && rank_ == o->root))
      expected = value_of(k, i / o->length, turn, i % o->length);
    CHECK(o->out[i] == expected, "operation %d, turn %d, element %d: %d instead of %d", k, turn, i, o->out[i],
          expected);
  }
}

static void wait_in_own_order(Operation* all, int count, int turn) {
  for (int i = 0; i < count; ++i) {
    Operation* o = &all[(i * 3 + rank_ * 2 + turn) % count];
    int done = 0;
    if (turn % 2 == 0) {
      MPI_Wait(&o->request, MPI_STATUS_IGNORE);
    } else {
      while (!done) MPI_Test(&o->request, &done, MPI_STATUS_IGNORE);
    }
    CHECK(o->request != MPI_REQUEST_NULL, "a persistent request is gone");
  }
}

/* Several operations, each rank in its own order, with blocking and nonblocking ones beside them. */
static void test_restarted(MPI_Comm comm) {
  Operation all[kOperations];
  for (int k = 0; k < kOperations; ++k) all[k] = make(k, comm);
  for (int turn = 0; turn < kTurns; ++turn) {
    /* Some turns start only a part of them. */
    const int count = turn % 4 == 3 ? 5 : kOperations;
    int sum = 0, word = rank_ == turn % size_ ? turn : -1;
    MPI_Request request;
    for (int i = 0; i < count; ++i) fill(&all[i], i, turn);
    for (int i = 0; i < count; ++i) {
      /* 3 has no common divisor with 14 and 5, so each is started once. */
      MPI_Start(&all[(i * 3 + rank_ * 5 + turn) % count].request);
      if (i != count / 2) continue;
      MPI_Ibcast(&word, 1, MPI_INT, turn % size_, MPI_COMM_WORLD, &request);
      MPI_Allreduce(&turn, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      CHECK(sum == turn * size_, "the blocking Allreduce among persistent ones gave %d", sum);
    }
    wait_in_own_order(all, count, turn);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(word == turn, "the non-blocking Bcast among persistent ones gave %d", word);
    for (int i = 0; i < count; ++i) check(&all[i], i, turn);
  }
  for (int i = 0; i < kOperations; ++i) discard(&all[(i * 3 + rank_) % kOperations]);
}

/* If one rank is slow, other ranks start an operation again as far as possible. */
static void test_run_ahead(void) {
  Operation cast = make(0, MPI_COMM_WORLD), gather = make(3, MPI_COMM_WORLD);
  for (int turn = 0; turn < 100; ++turn) {
    fill(&cast, 0, turn);
    fill(&gather, 3, turn);
    MPI_Start(&cast.request);
    MPI_Wait(&cast.request, MPI_STATUS_IGNORE);
    check(&cast, 0, turn);
    MPI_Start(&gather.request);
    MPI_Wait(&gather.request, MPI_STATUS_IGNORE);
    check(&gather, 3, turn);
  }
  discard(&cast);
  discard(&gather);
}

/* The value of variable `name`; -1 if the library has none. */
static long long read_variable(const char* name) {
  int provided, index, count = 0;
  unsigned long long value = 0;
  long long read = -1;
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handle;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  if (MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_LEVEL, &index) == MPI_SUCCESS) {
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
    MPI_T_pvar_read(session, handle, &value);
    MPI_T_pvar_handle_free(session, &handle);
    MPI_T_pvar_session_free(&session);
    read = (long long)value;
  }
  MPI_T_finalize();
  return read;
}

/* Their regions are returned, whether they were started or not, and in any order. */
static void test_made_and_freed(int have_regions) {
  Operation some[4];
  MPI_Comm here;
  int neighbours;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &here);
  MPI_Comm_size(here, &neighbours);
  MPI_Comm_free(&here);
  MPI_Barrier(MPI_COMM_WORLD);
  const long long before = read_variable("coll_regions_taken");
  MPI_Barrier(MPI_COMM_WORLD);
  if (have_regions && before >= 0 && size_ > 1) {
    some[0] = make(0, MPI_COMM_WORLD);
    const long long with_one = read_variable("coll_regions_taken");
    CHECK(with_one == before + (neighbours > 1), "areas taken: %lld before, %lld with an operation", before,
          with_one);
    MPI_Barrier(MPI_COMM_WORLD);
    discard(&some[0]);
  }
  for (int round = 0; round < kMadeAndFreed / 4; ++round) {
    for (int i = 0; i < 4; ++i) some[i] = make(i, MPI_COMM_WORLD);
    const int started = round % 4;
    if (round % 5 == 0) {
      fill(&some[started], started, round);
      MPI_Start(&some[started].request);
      MPI_Wait(&some[started].request, MPI_STATUS_IGNORE);
      check(&some[started], started, round);
    }
    for (int i = 0; i < 4; ++i) discard(&some[(i + rank_ + round) % 4]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const long long after = read_variable("coll_regions_taken");
  CHECK(before == after, "areas taken: %lld before, %lld after", before, after);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* More at a time than there are collective regions, on a communicator that is freed before they are
 * started. */
static void test_many(void) {
  MPI_Comm comm;
  static Operation all[kMany];
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int k = 0; k < kMany; ++k) all[k] = make(k, comm);
  /* That inactive operations keep their communicator is more than the standard requires (MPI 5.0 section
   * 2.5.1). */
  if (promised()) MPI_Comm_free(&comm);
  for (int turn = 0; turn < 3; ++turn) {
    for (int k = 0; k < kMany; ++k) fill(&all[k], k, turn);
    for (int i = 0; i < kMany; ++i) MPI_Start(&all[(i * 7 + rank_ * 11) % kMany].request);
    wait_in_own_order(all, kMany, turn);
    for (int k = 0; k < kMany; ++k) check(&all[k], k, turn);
  }
  for (int i = 0; i < kMany; ++i) discard(&all[(i * 3 + rank_ * 9) % kMany]);
  if (!promised()) MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  test_restarted(MPI_COMM_WORLD);
  test_run_ahead();
  test_made_and_freed(argc > 1);
  test_many();
  MPI_Finalize();
  return 0;
}
