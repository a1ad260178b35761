/* Reductions of derived datatypes by user-defined operations: elements with gaps before and after their data,
 * in every blocking collective that reduces. The gaps belong to the user and must stay unchanged. */
#include <stddef.h>

#include "check.h"

enum { kCount = 300 };

/* The product of 2 by 2 matrices modulo a prime: associative, not commutative. */
struct Element {
  int before;
  int matrix[2][2];
  short gap;
  char label;
};
static const int prime = 10007;

static MPI_Datatype make_type(void) {
  const int lengths[] = {2, 2, 1};
  const MPI_Aint places[] = {offsetof(struct Element, matrix[1]), offsetof(struct Element, matrix[0]),
                             offsetof(struct Element, label)};
  const MPI_Datatype members[] = {MPI_INT, MPI_INT, MPI_CHAR};
  MPI_Datatype inner, type;
  MPI_Type_create_struct(3, lengths, places, members, &inner);
  MPI_Type_create_resized(inner, -4, sizeof(struct Element), &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&inner);
  return type;
}

static MPI_Datatype the_type;

static void multiply(const struct Element* a, struct Element* b) {
  int product[2][2];
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      product[i][j] = (a->matrix[i][0] * b->matrix[0][j] + a->matrix[i][1] * b->matrix[1][j]) % prime;
    }
  }
  memcpy(b->matrix, product, sizeof product);
  b->label = (char)(a->label ^ b->label);
}

static void multiply_all(void* in, void* inout, int* count, MPI_Datatype* type) {
  CHECK(*type == the_type, "the operation gets another datatype");
  for (int i = 0; i < *count; ++i) multiply((struct Element*)in + i, (struct Element*)inout + i);
}

static void set(struct Element* element, int rank, int i) {
  element->before = -1;
  element->gap = -2;
  for (int j = 0; j < 4; ++j) element->matrix[j / 2][j % 2] = (rank * 7 + i * 3 + j * j + 1) % prime;
  element->label = (char)(rank + i);
}

/* The product over ranks first .. last. */
static struct Element product(int first, int last, int i) {
  struct Element result;
  set(&result, last, i);
  for (int rank = last - 1; rank >= first; --rank) {
    struct Element left;
    set(&left, rank, i);
    multiply(&left, &result);
  }
  return result;
}

static void expect(const char* what, const struct Element* got, int first, int last, int i) {
  const struct Element want = product(first, last, i);
  CHECK(memcmp(got->matrix, want.matrix, sizeof want.matrix) == 0 && got->label == want.label,
        "%s, element %d: %d instead of %d", what, i, got->matrix[0][0], want.matrix[0][0]);
  CHECK(got->before == 77 && got->gap == 78, "%s, element %d: a gap was written", what, i);
}

static void clear(struct Element* elements, int count) {
  memset(elements, 0, sizeof *elements * (size_t)count);
  for (int i = 0; i < count; ++i) {
    elements[i].before = 77;
    elements[i].gap = 78;
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  the_type = make_type();
  MPI_Op op;
  MPI_Op_create(multiply_all, 0, &op);
  const int all = kCount * ranks;
  struct Element* mine = malloc(sizeof *mine * (size_t)all);
  struct Element* got = malloc(sizeof *got * (size_t)all);
  for (int i = 0; i < all; ++i) set(&mine[i], rank, i);

  for (int root = 0; root < ranks; ++root) {
    clear(got, kCount);
    MPI_Reduce(mine, got, kCount, the_type, op, root, MPI_COMM_WORLD);
    for (int i = 0; i < kCount && rank == root; ++i) expect("MPI_Reduce", &got[i], 0, ranks - 1, i);
  }
  clear(got, kCount);
  MPI_Allreduce(mine, got, kCount, the_type, op, MPI_COMM_WORLD);
  for (int i = 0; i < kCount; ++i) expect("MPI_Allreduce", &got[i], 0, ranks - 1, i);

  for (int i = 0; i < kCount; ++i) {
    set(&got[i], rank, i);
    got[i].before = 77;
    got[i].gap = 78;
  }
  MPI_Allreduce(MPI_IN_PLACE, got, kCount, the_type, op, MPI_COMM_WORLD);
  for (int i = 0; i < kCount; ++i) expect("MPI_Allreduce in place", &got[i], 0, ranks - 1, i);

  clear(got, kCount);
  MPI_Scan(mine, got, kCount, the_type, op, MPI_COMM_WORLD);
  for (int i = 0; i < kCount; ++i) expect("MPI_Scan", &got[i], 0, rank, i);

  clear(got, kCount);
  MPI_Exscan(mine, got, kCount, the_type, op, MPI_COMM_WORLD);
  for (int i = 0; i < kCount && rank > 0; ++i) expect("MPI_Exscan", &got[i], 0, rank - 1, i);

  clear(got, kCount);
  MPI_Reduce_scatter_block(mine, got, kCount, the_type, op, MPI_COMM_WORLD);
  for (int i = 0; i < kCount; ++i) {
    const struct Element want = product(0, ranks - 1, rank * kCount + i);
    CHECK(memcmp(got[i].matrix, want.matrix, sizeof want.matrix) == 0, "MPI_Reduce_scatter_block, %d", i);
  }

  set(&got[0], rank, 1);
  set(&got[1], rank, 2);
  MPI_Reduce_local(&got[0], &got[1], 1, the_type, op);
  struct Element left, right;
  set(&left, rank, 1);
  set(&right, rank, 2);
  multiply(&left, &right);
  CHECK(memcmp(got[1].matrix, right.matrix, sizeof right.matrix) == 0, "MPI_Reduce_local");

  free(mine);
  free(got);
  MPI_Op_free(&op);
  MPI_Type_free(&the_type);
  MPI_Finalize();
  return 0;
}
