/* Reductions, compared with the same computation on every rank alone, in rank order. */
#include "forms.h"

/* The input of rank r at index i: small, so that sums and products are exact in any order. */
static int input(int rank, long index) {
  return (int)((rank * 7 + index * 3) % 5) - 1;
}

/* A reduction of ints, or of doubles with integral values. */
typedef struct {
  const char* name;
  MPI_Op op;
  long (*apply)(long, long);
} Operation;

static long sum(long a, long b) {
  return a + b;
}
static long product(long a, long b) {
  return a * b;
}
static long minimum(long a, long b) {
  return a < b ? a : b;
}
static long maximum(long a, long b) {
  return a > b ? a : b;
}
static long exclusive_or(long a, long b) {
  return a ^ b;
}

/* The result over ranks first..last at an index. */
static long expected(const Operation* operation, int first, int last, long index) {
  long result = input(first, index);
  for (int rank = first + 1; rank <= last; ++rank) result = operation->apply(result, input(rank, index));
  return result;
}

static void put(MPI_Datatype type, void* buffer, long index, long value) {
  if (type == MPI_INT) ((int*)buffer)[index] = (int)value;
  if (type == MPI_LONG) ((long*)buffer)[index] = value;
  if (type == MPI_DOUBLE) ((double*)buffer)[index] = (double)value;
}
static long get(MPI_Datatype type, const void* buffer, long index) {
  if (type == MPI_INT) return ((const int*)buffer)[index];
  if (type == MPI_LONG) return ((const long*)buffer)[index];
  return (long)((const double*)buffer)[index];
}

static void* input_vector(MPI_Datatype type, long count) {
  void* buffer = malloc(sizeof(double) * (size_t)count + 8);
  for (long i = 0; i < count; ++i) put(type, buffer, i, input(rank_, i));
  return buffer;
}

static void check_vector(MPI_Datatype type, const void* buffer, long count, const Operation* operation,
                         int first, int last, long first_index, const char* what) {
  for (long i = 0; i < count; ++i)
    CHECK(get(type, buffer, i) == expected(operation, first, last, first_index + i),
          "%s of %ld elements with %s: element %ld is %ld, not %ld", what, count, operation->name, i,
          get(type, buffer, i), expected(operation, first, last, first_index + i));
}

static void test_vectors(MPI_Datatype type, long count, const Operation* operation) {
  const int n = (int)count;
  void* in = input_vector(type, count);
  void* out = malloc(sizeof(double) * (size_t)count + 8);
  for (int root = 0; root < size_; ++root) {
    COLLECTIVE(Reduce, reduce, in, rank_ == root ? out : NULL, n, type, operation->op, root);
    if (rank_ == root) check_vector(type, out, count, operation, 0, size_ - 1, 0, "Reduce");
    if (rank_ == root) {
      void* both = input_vector(type, count);
      COLLECTIVE(Reduce, reduce, MPI_IN_PLACE, both, n, type, operation->op, root);
      check_vector(type, both, count, operation, 0, size_ - 1, 0, "Reduce in place");
      free(both);
    } else {
      COLLECTIVE(Reduce, reduce, in, NULL, n, type, operation->op, root);
    }
  }
  COLLECTIVE(Allreduce, allreduce, in, out, n, type, operation->op);
  check_vector(type, out, count, operation, 0, size_ - 1, 0, "Allreduce");
  COLLECTIVE(Scan, scan, in, out, n, type, operation->op);
  check_vector(type, out, count, operation, 0, rank_, 0, "Scan");
  for (long i = 0; i < count; ++i) put(type, out, i, 77);
  COLLECTIVE(Exscan, exscan, in, out, n, type, operation->op);
  if (rank_ > 0) {
    check_vector(type, out, count, operation, 0, rank_ - 1, 0, "Exscan");
  } else {
    for (long i = 0; i < count; ++i) CHECK(get(type, out, i) == 77, "Exscan wrote to rank 0");
  }
  check_vector(type, in, count, operation, rank_, rank_, 0, "the input");

  void* both = input_vector(type, count);
  COLLECTIVE(Allreduce, allreduce, MPI_IN_PLACE, both, n, type, operation->op);
  check_vector(type, both, count, operation, 0, size_ - 1, 0, "Allreduce in place");
  free(both);
  both = input_vector(type, count);
  COLLECTIVE(Scan, scan, MPI_IN_PLACE, both, n, type, operation->op);
  check_vector(type, both, count, operation, 0, rank_, 0, "Scan in place");
  free(both);
  both = input_vector(type, count);
  COLLECTIVE(Exscan, exscan, MPI_IN_PLACE, both, n, type, operation->op);
  if (rank_ > 0) check_vector(type, both, count, operation, 0, rank_ - 1, 0, "Exscan in place");
  free(both);
  free(in);
  free(out);
}

static void test_reduce_scatter(MPI_Datatype type, int count, const Operation* operation) {
  /* Equal blocks. */
  const long total = (long)count * size_;
  void* in = input_vector(type, total);
  void* out = malloc(sizeof(double) * (size_t)count + 8);
  COLLECTIVE(Reduce_scatter_block, reduce_scatter_block, in, out, count, type, operation->op);
  check_vector(type, out, count, operation, 0, size_ - 1, (long)count * rank_, "Reduce_scatter_block");
  COLLECTIVE(Reduce_scatter_block, reduce_scatter_block, MPI_IN_PLACE, in, count, type, operation->op);
  check_vector(type, in, count, operation, 0, size_ - 1, (long)count * rank_,
               "Reduce_scatter_block in place");
  free(in);
  free(out);

  /* Blocks of different lengths, some empty. */
  int* counts = malloc(sizeof(int) * (size_t)size_);
  int all = 0, before = 0;
  for (int rank = 0; rank < size_; ++rank) {
    counts[rank] = rank % 3 == 1 ? 0 : count + rank % 4;
    if (rank < rank_) before += counts[rank];
    all += counts[rank];
  }
  in = input_vector(type, all);
  out = malloc(sizeof(double) * (size_t)counts[rank_] + 8);
  COLLECTIVE(Reduce_scatter, reduce_scatter, in, out, counts, type, operation->op);
  check_vector(type, out, counts[rank_], operation, 0, size_ - 1, before, "Reduce_scatter");
  COLLECTIVE(Reduce_scatter, reduce_scatter, MPI_IN_PLACE, in, counts, type, operation->op);
  check_vector(type, in, counts[rank_], operation, 0, size_ - 1, before, "Reduce_scatter in place");
  free(in);
  free(out);
  free(counts);
}

/* Products of 2 x 2 matrices modulo a prime: associative, and very different in any other order. The gap
 * between elements must not be touched. */

enum { kPrime = 10007 };
typedef struct {
  int cell[4];
  int gap[2];
} Matrix;

static void multiply(const int a[4], int b[4]) {
  const int product_[4] = {
      (a[0] * b[0] + a[1] * b[2]) % kPrime,
      (a[0] * b[1] + a[1] * b[3]) % kPrime,
      (a[2] * b[0] + a[3] * b[2]) % kPrime,
      (a[2] * b[1] + a[3] * b[3]) % kPrime,
  };
  memcpy(b, product_, sizeof product_);
}
static void multiply_all(void* in, void* inout, int* count, MPI_Datatype* type) {
  int bytes;
  MPI_Aint lower, extent;
  MPI_Type_size(*type, &bytes);
  MPI_Type_get_extent(*type, &lower, &extent);
  CHECK(bytes == 16 && extent == sizeof(Matrix), "the operation got a type of %d bytes", bytes);
  for (int i = 0; i < *count; ++i) multiply(((Matrix*)in)[i].cell, ((Matrix*)inout)[i].cell);
}
static Matrix matrix_of(int rank, long index) {
  const Matrix matrix = {{rank + 1, (int)(index % 100) + 2, 1, rank + (int)(index % 7)}, {-1, rank_}};
  return matrix;
}
static Matrix* matrices(long count) {
  Matrix* all = malloc(sizeof(Matrix) * (size_t)count + 8);
  for (long i = 0; i < count; ++i) all[i] = matrix_of(rank_, i);
  return all;
}
static void check_matrices(const Matrix* got, long count, int first, int last, long first_index,
                           const char* what) {
  for (long i = 0; i < count; ++i) {
    Matrix want = matrix_of(last, first_index + i);
    for (int rank = last - 1; rank >= first; --rank)
      multiply(matrix_of(rank, first_index + i).cell, want.cell);
    CHECK(memcmp(&got[i], &want, sizeof want) == 0,
          "%s of %ld matrices: number %ld is not the product in rank order", what, count, i);
  }
}

static void test_order(int count, MPI_Datatype type, MPI_Op op) {
  Matrix* in = matrices(count);
  Matrix* out = matrices(count);
  for (int root = 0; root < size_; ++root) {
    COLLECTIVE(Reduce, reduce, in, out, count, type, op, root);
    if (rank_ == root) check_matrices(out, count, 0, size_ - 1, 0, "Reduce");
  }
  COLLECTIVE(Allreduce, allreduce, in, out, count, type, op);
  check_matrices(out, count, 0, size_ - 1, 0, "Allreduce");
  COLLECTIVE(Scan, scan, in, out, count, type, op);
  check_matrices(out, count, 0, rank_, 0, "Scan");
  COLLECTIVE(Exscan, exscan, in, out, count, type, op);
  if (rank_ > 0) check_matrices(out, count, 0, rank_ - 1, 0, "Exscan");
  free(in);
  in = matrices((long)count * size_);
  COLLECTIVE(Reduce_scatter_block, reduce_scatter_block, in, out, count, type, op);
  check_matrices(out, count, 0, size_ - 1, (long)count * rank_, "Reduce_scatter_block");
  int* counts = malloc(sizeof(int) * (size_t)size_);
  for (int rank = 0; rank < size_; ++rank) counts[rank] = count;
  COLLECTIVE(Reduce_scatter, reduce_scatter, MPI_IN_PLACE, in, counts, type, op);
  check_matrices(in, count, 0, size_ - 1, (long)count * rank_, "Reduce_scatter in place");
  free(counts);
  free(in);
  free(out);
}

/* Sums that round: the same bits on all ranks, and every time. */
static void test_repeats(int count) {
  double* in = malloc(sizeof(double) * (size_t)count);
  double* once = malloc(sizeof(double) * (size_t)count);
  double* again = malloc(sizeof(double) * (size_t)count);
  for (int i = 0; i < count; ++i) in[i] = 1.0 / (3 + rank_ * 11 + i % 1000) * (rank_ % 2 ? 1e9 : 1e-3);
  COLLECTIVE(Allreduce, allreduce, in, once, count, MPI_DOUBLE, MPI_SUM);
  for (int turn = 0; turn < 3; ++turn) {
    COLLECTIVE(Allreduce, allreduce, in, again, count, MPI_DOUBLE, MPI_SUM);
    CHECK(memcmp(once, again, sizeof(double) * (size_t)count) == 0, "Allreduce of %d gave other bits again",
          count);
  }
  memcpy(again, once, sizeof(double) * (size_t)count);
  COLLECTIVE(Bcast, bcast, again, count, MPI_DOUBLE, size_ - 1);
  CHECK(memcmp(once, again, sizeof(double) * (size_t)count) == 0,
        "Allreduce of %d: ranks have different bits", count);
  free(in);
  free(once);
  free(again);
}

static void test_places(void) {
  struct {
    double value;
    int rank;
  } in[3] = {{rank_ % 3, rank_}, {-(double)rank_, rank_}, {5.0, rank_}}, out[3];
  COLLECTIVE(Allreduce, allreduce, in, out, 3, MPI_DOUBLE_INT, MPI_MAXLOC);
  CHECK(out[0].value == (size_ > 2 ? 2 : size_ - 1) && out[0].rank == (size_ > 2 ? 2 : size_ - 1), "MAXLOC");
  CHECK(out[1].value == 0 && out[1].rank == 0, "MAXLOC of negative numbers");
  CHECK(out[2].value == 5.0 && out[2].rank == 0, "MAXLOC of equal numbers");
  COLLECTIVE(Allreduce, allreduce, in, out, 3, MPI_DOUBLE_INT, MPI_MINLOC);
  CHECK(out[0].value == 0 && out[0].rank == 0, "MINLOC");
  CHECK(out[1].value == -(size_ - 1) && out[1].rank == size_ - 1, "MINLOC of negative numbers");
}

/* An undefined pair of operation and type is an error of the call, on all ranks, before any data are sent. */
static void test_wrong_operation(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  double in = 1, out = 2;
  int class_ = 0;
  MPI_Error_class(MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD), &class_);
  CHECK(class_ == MPI_ERR_OP && out == 2, "MPI_BAND of doubles: class %d", class_);
  if (promised()) {
    MPI_Error_class(MPI_Reduce_local(&in, &out, 1, MPI_WCHAR, MPI_SUM), &class_);
    CHECK(class_ == MPI_ERR_OP && out == 2, "MPI_SUM of wide characters: class %d", class_);
  }
  CHECK(MPI_Reduce_local(&in, &out, 1, MPI_DOUBLE, MPI_SUM) == MPI_SUCCESS && out == 3, "Reduce_local");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  choose_form(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  const Operation operations[] = {
      {"MPI_SUM", MPI_SUM, sum},     {"MPI_PROD", MPI_PROD, product},      {"MPI_MIN", MPI_MIN, minimum},
      {"MPI_MAX", MPI_MAX, maximum}, {"MPI_BXOR", MPI_BXOR, exclusive_or},
  };
  MPI_Datatype cells, matrix;
  MPI_Type_contiguous(4, MPI_INT, &cells);
  MPI_Type_create_resized(cells, 0, sizeof(Matrix), &matrix);
  MPI_Type_free(&cells);
  MPI_Type_commit(&matrix);
  MPI_Op in_order;
  MPI_Op_create(multiply_all, 0, &in_order);
  int commutes = 1;
  MPI_Op_commutative(in_order, &commutes);
  CHECK(!commutes, "the operation commutes");

  const int counts[] = {0, 1, 7, 1000, 100000};
  for (int i = 0; i < 5; ++i) {
    for (int o = 0; o < 5; ++o) {
      if (counts[i] > 1000 && o > 0) continue;
      test_vectors(MPI_INT, counts[i], &operations[o]);
      test_reduce_scatter(MPI_INT, counts[i] > 1000 ? counts[i] / size_ : counts[i], &operations[o]);
      test_vectors(MPI_LONG, counts[i], &operations[o]);
      if (operations[o].op == MPI_BXOR) continue;
      test_vectors(MPI_DOUBLE, counts[i], &operations[o]);
      test_reduce_scatter(MPI_DOUBLE, counts[i] > 1000 ? counts[i] / size_ : counts[i], &operations[o]);
    }
    test_order(counts[i] > 1000 ? counts[i] / 4 : counts[i], matrix, in_order);
    test_repeats(counts[i] + 1);
  }
  test_places();
  test_wrong_operation();
  MPI_Op_free(&in_order);
  MPI_Type_free(&matrix);
  MPI_Finalize();
  return 0;
}
