/* Reductions of Fortran logicals after the program has set the values of .TRUE. and .FALSE. (MPI 5.0 chapter
 * 20, MPI_Abi_set_fortran_booleans): every logical type and every reducing collective, compared with a local
 * computation. MPI does not assume that zero is false. Any number of ranks.
 *
 *     fortran FORM SIZE TRUE FALSE     a LOGICAL of SIZE bytes has these values; SIZE 0: no values are set */
#include <stdint.h>

#include "forms.h"

typedef struct {
  const char* name;
  MPI_Op op;
  int (*apply)(int, int);
} Operation;

static int conjunction(int a, int b) {
  return a && b;
}
static int disjunction(int a, int b) {
  return a || b;
}
static int difference(int a, int b) {
  return a != b;
}

/* .FALSE. and .TRUE. of the widest LOGICAL; narrower ones use the low bytes. */
static int64_t literals_[2][2];

static void set_literal(int which, long long value) {
  literals_[which][0] = value;
  literals_[which][1] = value < 0 ? -1 : 0;
}

/* The input of rank r at index i: rarely false, rarely true, or evenly distributed. */
static int input(int rank, int index) {
  const int hash = (rank * 7 + index * 13) % 11;
  return index % 3 == 0 ? hash < 9 : index % 3 == 1 ? hash < 2 : hash < 5;
}

static int expected(const Operation* operation, int first, int last, int index) {
  int result = input(first, index);
  for (int rank = first + 1; rank <= last; ++rank) result = operation->apply(result, input(rank, index));
  return result;
}

static void fill(char* buffer, int size, int count) {
  for (int i = 0; i < count; ++i) memcpy(buffer + i * size, literals_[input(rank_, i)], (size_t)size);
}

static void check(const char* buffer, int size, int count, const Operation* operation, int first, int last,
                  int first_index, const char* what) {
  for (int i = 0; i < count; ++i) {
    const int want = expected(operation, first, last, first_index + i);
    CHECK(memcmp(buffer + i * size, literals_[want], (size_t)size) == 0,
          "%s of %d LOGICALs of %d bytes with %s: element %d begins with 0x%02x, not as .%s.", what, count,
          size, operation->name, i, (unsigned char)buffer[i * size], want ? "TRUE" : "FALSE");
  }
}

static void test_reductions(MPI_Datatype type, int size, int count, const Operation* operation) {
  const int last = size_ - 1, all = count * size_;
  char* in = malloc((size_t)(all * size));
  char* out = malloc((size_t)(all * size));
  int* counts = malloc(sizeof(int) * (size_t)size_);
  for (int rank = 0; rank < size_; ++rank) counts[rank] = count;
  fill(in, size, all);
  for (int root = 0; root < size_; ++root) {
    COLLECTIVE(Reduce, reduce, in, out, count, type, operation->op, root);
    if (rank_ == root) check(out, size, count, operation, 0, last, 0, "Reduce");
  }
  COLLECTIVE(Allreduce, allreduce, in, out, count, type, operation->op);
  check(out, size, count, operation, 0, last, 0, "Allreduce");
  COLLECTIVE(Scan, scan, in, out, count, type, operation->op);
  check(out, size, count, operation, 0, rank_, 0, "Scan");
  COLLECTIVE(Exscan, exscan, in, out, count, type, operation->op);
  if (rank_ > 0) check(out, size, count, operation, 0, rank_ - 1, 0, "Exscan");
  COLLECTIVE(Reduce_scatter_block, reduce_scatter_block, in, out, count, type, operation->op);
  check(out, size, count, operation, 0, last, count * rank_, "Reduce_scatter_block");
  COLLECTIVE(Reduce_scatter, reduce_scatter, in, out, counts, type, operation->op);
  check(out, size, count, operation, 0, last, count * rank_, "Reduce_scatter");
  COLLECTIVE(Allreduce, allreduce, MPI_IN_PLACE, in, count, type, operation->op);
  check(in, size, count, operation, 0, last, 0, "Allreduce in place");
  free(in);
  free(out);
  free(counts);
}

/* MPI_Reduce_local: all four pairs. */
static void test_local(MPI_Datatype type, int size, const Operation* operation) {
  char in[4 * 16], inout[4 * 16];
  for (int i = 0; i < 4; ++i) {
    memcpy(in + i * size, literals_[i / 2], (size_t)size);
    memcpy(inout + i * size, literals_[i % 2], (size_t)size);
  }
  MPI_Reduce_local(in, inout, 4, type, operation->op);
  for (int i = 0; i < 4; ++i)
    CHECK(memcmp(inout + i * size, literals_[operation->apply(i / 2, i % 2)], (size_t)size) == 0,
          "MPI_Reduce_local of LOGICALs of %d bytes with %s: pair %d", size, operation->name, i);
}

/* For C types zero is false and the result is 0 or 1, with any Fortran values. */
static void test_of_c(void) {
  int in[] = {0, 3, -1, 3}, inout[] = {0, 0, -1, 2};
  unsigned char in_bool[] = {0, 1, 0, 1}, inout_bool[] = {0, 0, 1, 1};
  MPI_Reduce_local(in, inout, 4, MPI_INT, MPI_LAND);
  MPI_Reduce_local(in_bool, inout_bool, 4, MPI_C_BOOL, MPI_LXOR);
  CHECK(inout[0] == 0 && inout[1] == 0 && inout[2] == 1 && inout[3] == 1, "MPI_LAND of MPI_INT");
  CHECK(inout_bool[0] == 0 && inout_bool[1] == 1 && inout_bool[2] == 1 && inout_bool[3] == 0,
        "MPI_LXOR of MPI_C_BOOL");
}

static void say_literals(int size) {
  int64_t yes[2], no[2];
  int is_set = -1, error_class;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Abi_get_fortran_booleans(16, yes, no, &is_set);
  CHECK(!is_set, "the library says that it knows Fortran's booleans");
  if (size == 0) return;
  CHECK(MPI_Abi_set_fortran_booleans(size, literals_[1], literals_[0]) == MPI_SUCCESS, "setting them");
  MPI_Error_class(MPI_Abi_set_fortran_booleans(size, literals_[1], literals_[0]), &error_class);
  CHECK(error_class == MPI_ERR_ABI, "setting them twice: class %d", error_class);
  MPI_Abi_get_fortran_booleans(16, yes, no, &is_set);
  CHECK(is_set && memcmp(yes, literals_[1], 16) == 0 && memcmp(no, literals_[0], 16) == 0,
        "what was set: %d, %lld, %lld", is_set, (long long)yes[0], (long long)no[0]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  choose_form(argc, argv);
  CHECK(argc == 5, "usage: fortran FORM SIZE TRUE FALSE");
  set_literal(1, atoll(argv[3]));
  set_literal(0, atoll(argv[4]));
  say_literals(atoi(argv[2]));
  const Operation operations[] = {{"MPI_LAND", MPI_LAND, conjunction},
                                  {"MPI_LOR", MPI_LOR, disjunction},
                                  {"MPI_LXOR", MPI_LXOR, difference}};
  const MPI_Datatype types[] = {MPI_LOGICAL,  MPI_LOGICAL1, MPI_LOGICAL2,
                                MPI_LOGICAL4, MPI_LOGICAL8, MPI_LOGICAL16};
  for (int t = 0; t < 6; ++t) {
    int size;
    MPI_Type_size(types[t], &size);
    if (size == MPI_UNDEFINED) continue; /* this machine has no LOGICAL of this size */
    MPI_Datatype matched = MPI_DATATYPE_NULL;
    MPI_Type_match_size(MPIX_TYPECLASS_LOGICAL, size, &matched);
    CHECK(t == 0 || matched == types[t], "MPI_Type_match_size of a LOGICAL of %d bytes", size);
    for (int o = 0; o < 3; ++o) {
      test_local(types[t], size, &operations[o]);
      test_reductions(types[t], size, 1, &operations[o]);
      test_reductions(types[t], size, 301, &operations[o]);
      test_reductions(types[t], size, 20000, &operations[o]);
    }
  }
  test_of_c();
  MPI_Finalize();
  return 0;
}
