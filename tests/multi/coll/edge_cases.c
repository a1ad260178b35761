/* Collectives where definitions are easy to get wrong, in the form that the argument names (MPI 5.0 chapter
 * 6): arguments that are not significant on a rank, operations without data, MPI_IN_PLACE in all of them,
 * user-defined operations on derived datatypes in reduce-scatter and scans, ties of MPI_MINLOC. Any number of
 * ranks. */
#include <stddef.h>
#include <stdint.h>

#include "forms.h"

enum { kMax = 16, kJunk = -99 };

static int words_[4 * kMax], got_[4 * kMax];

static void spoil(void) {
  for (int i = 0; i < 4 * kMax; ++i) {
    words_[i] = 1000 * rank_ + i;
    got_[i] = kJunk;
  }
}

static void expect(int place, int want, const char* what) {
  CHECK(got_[place] == want, "%s: number %d is %d, not %d", what, place, got_[place], want);
}

/* Arguments that are significant at the root only may be anything on other ranks. */
static void test_insignificant(int root) {
  const int here = rank_ == root;
  const MPI_Datatype none = here ? MPI_INT : MPI_DATATYPE_NULL;
  const int nothing = here ? 1 : -7;
  int counts[kMax], places[kMax];
  for (int r = 0; r < size_; ++r) {
    counts[r] = r % 2 + 1;
    places[r] = 2 * r;
  }
  spoil();
  COLLECTIVE(Gather, gather, words_, 1, MPI_INT, here ? got_ : NULL, nothing, none, root);
  for (int r = 0; here && r < size_; ++r) expect(r, 1000 * r, "gather");
  spoil();
  COLLECTIVE(Gatherv, gatherv, words_, rank_ % 2 + 1, MPI_INT, here ? got_ : NULL, here ? counts : NULL,
             here ? places : NULL, none, root);
  for (int r = 0; here && r < size_; ++r) expect(2 * r + 1, r % 2 ? 1000 * r + 1 : kJunk, "gatherv");
  spoil();
  COLLECTIVE(Scatter, scatter, here ? words_ : NULL, nothing, none, got_, 1, MPI_INT, root);
  expect(0, 1000 * root + rank_, "scatter");
  spoil();
  COLLECTIVE(Scatterv, scatterv, here ? words_ : NULL, here ? counts : NULL, here ? places : NULL, none, got_,
             rank_ % 2 + 1, MPI_INT, root);
  expect(0, 1000 * root + 2 * rank_, "scatterv");
  expect(1, rank_ % 2 ? 1000 * root + 2 * rank_ + 1 : kJunk, "scatterv");
  spoil();
  COLLECTIVE(Reduce, reduce, words_, here ? got_ : NULL, 2, MPI_INT, MPI_MAX, root);
  if (here) expect(1, 1000 * (size_ - 1) + 1, "reduce");

  /* MPI_IN_PLACE: the root's own block is already in place, and the arguments that describe it are not
   * significant. */
  spoil();
  got_[root] = 7;
  COLLECTIVE(Gather, gather, here ? MPI_IN_PLACE : words_, here ? -3 : 1, here ? MPI_DATATYPE_NULL : MPI_INT,
             here ? got_ : NULL, nothing, none, root);
  for (int r = 0; here && r < size_; ++r) expect(r, r == root ? 7 : 1000 * r, "gather in place");
  spoil();
  COLLECTIVE(Scatter, scatter, here ? words_ : NULL, nothing, none, here ? MPI_IN_PLACE : (void*)got_,
             here ? -3 : 1, here ? MPI_DATATYPE_NULL : MPI_INT, root);
  expect(0, here ? kJunk : 1000 * root + rank_, "scatter in place");
  for (int i = 0; i < kMax; ++i)
    CHECK(words_[i] == 1000 * rank_ + i, "scatter in place wrote %d to %d", words_[i], i);
}

static void test_in_place(void) {
  int counts[kMax], places[kMax];
  MPI_Datatype types[kMax];
  for (int r = 0; r < size_; ++r) {
    counts[r] = 1;
    places[r] = size_ - 1 - r;
    types[r] = MPI_INT;
  }
  spoil();
  got_[rank_] = 50 + rank_;
  COLLECTIVE(Allgather, allgather, MPI_IN_PLACE, -5, MPI_DATATYPE_NULL, got_, 1, MPI_INT);
  for (int r = 0; r < size_; ++r) expect(r, 50 + r, "allgather in place");
  spoil();
  got_[size_ - 1 - rank_] = 50 + rank_;
  COLLECTIVE(Allgatherv, allgatherv, MPI_IN_PLACE, -5, MPI_DATATYPE_NULL, got_, counts, places, MPI_INT);
  for (int r = 0; r < size_; ++r) expect(size_ - 1 - r, 50 + r, "allgatherv in place");
  spoil();
  for (int r = 0; r < size_; ++r) got_[r] = 100 * rank_ + r;
  COLLECTIVE(Alltoall, alltoall, MPI_IN_PLACE, -5, MPI_DATATYPE_NULL, got_, 1, MPI_INT);
  for (int r = 0; r < size_; ++r) expect(r, 100 * r + rank_, "alltoall in place");
  spoil();
  for (int r = 0; r < size_; ++r) got_[size_ - 1 - r] = 100 * rank_ + r;
  COLLECTIVE(Alltoallv, alltoallv, MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, got_, counts, places,
             MPI_INT);
  for (int r = 0; r < size_; ++r) expect(size_ - 1 - r, 100 * r + rank_, "alltoallv in place");
  spoil();
  for (int r = 0; r < size_; ++r) {
    places[r] = (int)sizeof(int) * r;
    got_[r] = 100 * rank_ + r;
  }
  COLLECTIVE(Alltoallw, alltoallw, MPI_IN_PLACE, NULL, NULL, NULL, got_, counts, places, types);
  for (int r = 0; r < size_; ++r) expect(r, 100 * r + rank_, "alltoallw in place");
  for (int r = 0; r < size_; ++r) counts[r] = r % 3;
  spoil();
  for (int i = 0; i < 3 * kMax; ++i) got_[i] = rank_ + i;
  COLLECTIVE(Reduce_scatter, reduce_scatter, MPI_IN_PLACE, got_, counts, MPI_INT, MPI_SUM);
  int before = 0;
  for (int r = 0; r < rank_; ++r) before += r % 3;
  for (int i = 0; i < rank_ % 3; ++i)
    expect(i, size_ * (size_ - 1) / 2 + size_ * (before + i), "reduce_scatter in place");
  spoil();
  got_[0] = rank_ + 1;
  COLLECTIVE(Scan, scan, MPI_IN_PLACE, got_, 1, MPI_INT, MPI_SUM);
  expect(0, (rank_ + 1) * (rank_ + 2) / 2, "scan in place");
  /* MPI_Exscan leaves the first rank's buffer unchanged. */
  spoil();
  got_[0] = rank_ + 1;
  COLLECTIVE(Exscan, exscan, MPI_IN_PLACE, got_, 1, MPI_INT, MPI_SUM);
  expect(0, rank_ == 0 ? 1 : rank_ * (rank_ + 1) / 2, "exscan in place");
  spoil();
  COLLECTIVE(Exscan, exscan, words_, rank_ == 0 ? NULL : (void*)got_, 1, MPI_INT, MPI_MAX);
  expect(0, rank_ == 0 ? kJunk : 1000 * (rank_ - 1), "exscan");
}

/* No data: no memory is accessed, and buffers may be null. */
static void test_nothing(void) {
  int zeros[kMax] = {0};
  MPI_Datatype types[kMax];
  for (int r = 0; r < size_; ++r) types[r] = MPI_DOUBLE;
  COLLECTIVE(Bcast, bcast, NULL, 0, MPI_INT, size_ - 1);
  COLLECTIVE(Gather, gather, NULL, 0, MPI_INT, NULL, 0, MPI_INT, 0);
  COLLECTIVE(Scatter, scatter, NULL, 0, MPI_INT, NULL, 0, MPI_INT, 0);
  COLLECTIVE(Allgather, allgather, NULL, 0, MPI_INT, NULL, 0, MPI_INT);
  COLLECTIVE(Allgatherv, allgatherv, NULL, 0, MPI_INT, NULL, zeros, zeros, MPI_INT);
  COLLECTIVE(Alltoall, alltoall, NULL, 0, MPI_INT, NULL, 0, MPI_INT);
  COLLECTIVE(Alltoallw, alltoallw, NULL, zeros, zeros, types, NULL, zeros, zeros, types);
  COLLECTIVE(Reduce, reduce, NULL, NULL, 0, MPI_INT, MPI_SUM, 0);
  COLLECTIVE(Allreduce, allreduce, NULL, NULL, 0, MPI_INT, MPI_SUM);
  COLLECTIVE(Reduce_scatter, reduce_scatter, NULL, NULL, zeros, MPI_INT, MPI_SUM);
  COLLECTIVE(Reduce_scatter_block, reduce_scatter_block, NULL, NULL, 0, MPI_INT, MPI_SUM);
  COLLECTIVE(Scan, scan, NULL, NULL, 0, MPI_INT, MPI_SUM);
  COLLECTIVE(Exscan, exscan, NULL, NULL, 0, MPI_INT, MPI_SUM);
  /* All blocks are empty except one rank's, for each rank in turn. */
  for (int one = 0; one < size_; ++one) {
    zeros[one] = 3;
    spoil();
    COLLECTIVE(Reduce_scatter, reduce_scatter, words_, rank_ == one ? (void*)got_ : NULL, zeros, MPI_INT,
               MPI_MIN);
    for (int i = 0; i < 3; ++i) expect(i, rank_ == one ? i : kJunk, "reduce_scatter for one");
    zeros[one] = 0;
  }
}

/* x -> a x + b modulo a prime, stored backwards and with a gap: the operation does not commute. */
struct Map {
  int64_t b;
  int gap;
  int a;
};
enum { kPrime = 10007 };
static MPI_Datatype map_;
static int op_calls_;

static void compose(void* in, void* inout, int* count, MPI_Datatype* type) {
  struct Map* first = in;
  struct Map* then = inout;
  MPI_Aint lower, extent;
  MPI_Type_get_extent(*type, &lower, &extent);
  CHECK(extent == (MPI_Aint)sizeof(struct Map) && lower == -8, "the operation gets a type of %ld bytes",
        (long)extent);
  op_calls_ += *count;
  for (int i = 0; i < *count; ++i) {
    then[i].b = (then[i].a * first[i].b + then[i].b) % kPrime;
    then[i].a = then[i].a * first[i].a % kPrime;
  }
}

static struct Map map_of(int rank, int i) {
  return (struct Map){.b = (rank * 31 + i + 1) % kPrime, .gap = -1, .a = (rank * 17 + 2 * i + 3) % kPrime};
}

/* The composition of ranks `first` to `last`, in order. */
static struct Map composed(int first, int last, int i) {
  struct Map all = map_of(first, i);
  for (int r = first + 1; r <= last; ++r) {
    const struct Map next = map_of(r, i);
    all.b = (next.a * all.b + next.b) % kPrime;
    all.a = next.a * all.a % kPrime;
  }
  return all;
}

static void expect_map(const struct Map* got, int first, int last, int i, const char* what) {
  const struct Map want = composed(first, last, i);
  CHECK(got->a == want.a && got->b == want.b && got->gap == -5, "%s: element %d is %d, %ld (gap %d)", what, i,
        got->a, (long)got->b, got->gap);
}

static void test_users_operation(int count) {
  const int total = count * size_;
  struct Map* mine = malloc(sizeof(struct Map) * (size_t)total);
  struct Map* got = malloc(sizeof(struct Map) * (size_t)total);
  int counts[kMax], before = 0;
  MPI_Op op;
  MPI_Op_create(compose, 0, &op);
#define RESET()                                        \
  for (int i = 0; i < total; ++i) {                    \
    mine[i] = map_of(rank_, i);                        \
    got[i] = (struct Map){.b = -4, .gap = -5, .a = 0}; \
  }
#define RESET_IN_PLACE()            \
  for (int i = 0; i < total; ++i) { \
    got[i] = map_of(rank_, i);      \
    got[i].gap = -5;                \
  }
  RESET();
  COLLECTIVE(Reduce_scatter_block, reduce_scatter_block, mine, got, count, map_, op);
  /* Element i of the input goes to rank i / count. */
  for (int i = 0; i < count; ++i) {
    const struct Map want = composed(0, size_ - 1, rank_ * count + i);
    CHECK(got[i].a == want.a && got[i].b == want.b && got[i].gap == -5, "reduce_scatter_block: element %d",
          i);
  }
  for (int i = count; i < total; ++i) CHECK(got[i].b == -4, "reduce_scatter_block writes beyond: %d", i);
  /* Uneven blocks: the rest goes to the first rank. */
  int left = total;
  for (int r = size_ - 1; r > 0; --r) {
    counts[r] = r % 3 * count / 2;
    left -= counts[r];
  }
  counts[0] = left;
  for (int r = 0; r < rank_; ++r) before += counts[r];
  RESET();
  COLLECTIVE(Reduce_scatter, reduce_scatter, mine, got, counts, map_, op);
  for (int i = 0; i < counts[rank_]; ++i) {
    const struct Map want = composed(0, size_ - 1, before + i);
    CHECK(got[i].a == want.a && got[i].b == want.b && got[i].gap == -5, "reduce_scatter: element %d", i);
  }
  for (int i = counts[rank_]; i < total; ++i) CHECK(got[i].b == -4, "reduce_scatter writes beyond: %d", i);
  RESET();
  COLLECTIVE(Scan, scan, mine, got, count, map_, op);
  for (int i = 0; i < count; ++i) expect_map(&got[i], 0, rank_, i, "scan");
  RESET();
  COLLECTIVE(Exscan, exscan, mine, got, count, map_, op);
  for (int i = 0; rank_ > 0 && i < count; ++i) expect_map(&got[i], 0, rank_ - 1, i, "exscan");
  RESET_IN_PLACE();
  COLLECTIVE(Allreduce, allreduce, MPI_IN_PLACE, got, count, map_, op);
  for (int i = 0; i < count; ++i) expect_map(&got[i], 0, size_ - 1, i, "allreduce in place");
  RESET_IN_PLACE();
  COLLECTIVE(Scan, scan, MPI_IN_PLACE, got, count, map_, op);
  for (int i = 0; i < count; ++i) expect_map(&got[i], 0, rank_, i, "scan in place");
  const int here = rank_ == size_ / 2;
  RESET();
  if (here) RESET_IN_PLACE();
  COLLECTIVE(Reduce, reduce, here ? MPI_IN_PLACE : (void*)mine, here ? got : NULL, count, map_, op,
             size_ / 2);
  for (int i = 0; here && i < count; ++i) expect_map(&got[i], 0, size_ - 1, i, "reduce in place");
  MPI_Op_free(&op);
  CHECK(op == MPI_OP_NULL, "the operation stays");
  free(mine);
  free(got);
}

/* Among equal values, MPI_MINLOC and MPI_MAXLOC return the smallest index (section 6.9.4), from any rank. */
static void test_ties(void) {
  struct {
    double value;
    int index;
  } mine[3] = {{5, size_ - rank_}, {rank_ % 2, rank_}, {-0.0, 7}}, low[3], high[3];
  COLLECTIVE(Allreduce, allreduce, mine, low, 3, MPI_DOUBLE_INT, MPI_MINLOC);
  COLLECTIVE(Allreduce, allreduce, mine, high, 3, MPI_DOUBLE_INT, MPI_MAXLOC);
  CHECK(low[0].index == 1 && high[0].index == 1, "indices of equals: %d, %d", low[0].index, high[0].index);
  CHECK(low[1].value == 0 && low[1].index == 0, "the first of the least: %d", low[1].index);
  CHECK(size_ == 1 || (high[1].value == 1 && high[1].index == 1), "the first of the greatest: %d",
        high[1].index);
  CHECK(low[2].index == 7 && high[2].index == 7, "one index for all");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  choose_form(argc, argv);
  const int ones[] = {1, 1};
  const MPI_Aint places[] = {offsetof(struct Map, a), offsetof(struct Map, b)};
  const MPI_Datatype members[] = {MPI_INT, MPI_INT64_T};
  MPI_Datatype inner;
  MPI_Type_create_struct(2, ones, places, members, &inner);
  MPI_Type_create_resized(inner, -8, sizeof(struct Map), &map_);
  MPI_Type_free(&inner);
  MPI_Type_commit(&map_);
  for (int root = 0; root < size_; ++root) test_insignificant(root);
  test_in_place();
  test_nothing();
  test_users_operation(2);
  test_users_operation(700);
  CHECK(op_calls_ > 0 || size_ == 1, "the operation was never called");
  test_ties();
  MPI_Type_free(&map_);
  MPI_Finalize();
  return 0;
}
