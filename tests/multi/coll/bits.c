/* With HEARTH_COLL_SAME_BITS=1 a floating-point sum depends only on the order of ranks: for every collective,
 * form, length and algorithm, the reduction starts with the last rank. Values of very different magnitude
 * make every other order visible. */
#include "check.h"

enum { kLengths = 9, kLongest = 20001 };
static const int lengths[kLengths] = {1, 7, 31, 32, 100, 600, 1500, 5000, kLongest};

static MPI_Comm comm_;
static int own_, ranks_;
static double *in_, *out_, *wanted_;

static double value_of(int rank, int index) {
  const unsigned word = (unsigned)(rank * 7919 + index * 104729 + 12345) * 2654435761u;
  double value = 1.0 + (double)(word >> 8) / 16777216.0;
  for (unsigned scale = word % 40; scale > 0; --scale) value *= word % 2 ? 0.125 : 6.0;
  return word % 3 == 0 ? -value : value;
}

/* Neither commutative nor associative. */
static void halve_and_add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((double*)inout)[i] = ((double*)in)[i] * 0.3 + ((double*)inout)[i];
}

static double combine(int user, double left, double right) {
  return user ? left * 0.3 + right : left + right;
}

/* The expected reduction over ranks 0 to `last`, starting from `last`. */
static double reduced(int user, int last, int index) {
  double all = value_of(last, index);
  for (int rank = last - 1; rank >= 0; --rank) all = combine(user, value_of(rank, index), all);
  return all;
}

static void expect(const char* what, int user, int last, int begin, int count) {
  for (int i = 0; last >= 0 && i < count; ++i) wanted_[i] = reduced(user, last, begin + i);
  if (last < 0 || memcmp(out_, wanted_, (size_t)count * sizeof(double)) == 0) return;
  for (int i = 0; i < count; ++i)
    CHECK(out_[i] == wanted_[i], "%s of %d numbers, %s, rank %d of %d, element %d: %a instead of %a", what,
          count, user ? "a user's operation" : "MPI_SUM", own_, ranks_, i, out_[i], wanted_[i]);
}

static void test_length(int count, MPI_Op op, int user) {
  const int root = count % ranks_, each = count / ranks_;
  MPI_Request request;
  for (int i = 0; i < count; ++i) in_[i] = value_of(own_, i);
  MPI_Allreduce(in_, out_, count, MPI_DOUBLE, op, comm_);
  expect("Allreduce", user, ranks_ - 1, 0, count);
  MPI_Iallreduce(in_, out_, count, MPI_DOUBLE, op, comm_, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect("Iallreduce", user, ranks_ - 1, 0, count);
  MPI_Allreduce_init(in_, out_, count, MPI_DOUBLE, op, comm_, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect("Allreduce_init", user, ranks_ - 1, 0, count);
  MPI_Request_free(&request);
  memcpy(out_, in_, (size_t)count * sizeof(double));
  MPI_Allreduce(MPI_IN_PLACE, out_, count, MPI_DOUBLE, op, comm_);
  expect("Allreduce in place", user, ranks_ - 1, 0, count);
  MPI_Reduce(in_, out_, count, MPI_DOUBLE, op, root, comm_);
  if (own_ == root) expect("Reduce", user, ranks_ - 1, 0, count);
  MPI_Scan(in_, out_, count, MPI_DOUBLE, op, comm_);
  expect("Scan", user, own_, 0, count);
  MPI_Exscan(in_, out_, count, MPI_DOUBLE, op, comm_);
  expect("Exscan", user, own_ - 1, 0, count);
  MPI_Reduce_scatter_block(in_, out_, each, MPI_DOUBLE, op, comm_);
  expect("Reduce_scatter_block", user, ranks_ - 1, own_ * each, each);
  int* counts = malloc((size_t)ranks_ * sizeof(int));
  for (int rank = 0; rank < ranks_; ++rank) counts[rank] = rank == ranks_ - 1 ? count - rank * each : each;
  MPI_Reduce_scatter(in_, out_, counts, MPI_DOUBLE, op, comm_);
  expect("Reduce_scatter", user, ranks_ - 1, own_ * each, counts[own_]);
  free(counts);
}

static void test_on(MPI_Comm comm) {
  MPI_Op op;
  comm_ = comm;
  MPI_Comm_rank(comm, &own_);
  MPI_Comm_size(comm, &ranks_);
  MPI_Op_create(halve_and_add, 0, &op);
  for (int i = 0; i < kLengths; ++i) {
    test_length(lengths[i], MPI_SUM, 0);
    test_length(lengths[i], op, 1);
  }
  MPI_Op_free(&op);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  in_ = malloc(kLongest * sizeof(double));
  out_ = malloc(kLongest * sizeof(double));
  wanted_ = malloc(kLongest * sizeof(double));
  test_on(MPI_COMM_WORLD);
  MPI_Comm part;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_, &part);
  test_on(part);
  MPI_Comm_free(&part);
  MPI_Comm_split(MPI_COMM_WORLD, rank_ % 3 == 0, rank_, &part);
  test_on(part);
  MPI_Comm_free(&part);
  free(in_);
  free(out_);
  free(wanted_);
  MPI_Finalize();
  return 0;
}
