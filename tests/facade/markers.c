/* MPI_LB and MPI_UB, which MPI 3.0 removed: the bounds of structs with these markers (MPI 2.2 section 4.1.6).
   Compiled without a header: the prototypes below are those of the ABI. */
#include <stdio.h>

#ifdef ABI_OPENMPI
typedef void* Handle;
extern char ompi_mpi_int[], ompi_mpi_lb[], ompi_mpi_ub[];
#define INT ((Handle)ompi_mpi_int)
#define LB ((Handle)ompi_mpi_lb)
#define UB ((Handle)ompi_mpi_ub)
#else
typedef int Handle;
#define INT 0x4c000405
#define LB 0x4c000010
#define UB 0x4c000011
#endif

int MPI_Init(int*, char***);
int MPI_Finalize(void);
int MPI_Type_contiguous(int, Handle, Handle*);
int MPI_Type_create_hvector(int, int, long, Handle, Handle*);
int MPI_Type_create_struct(int, const int*, const long*, const Handle*, Handle*);
int MPI_Type_create_struct_c(long long, const long long*, const long long*, const Handle*, Handle*);
int MPI_Type_struct(int, int*, long*, Handle*, Handle*);
int MPI_Type_lb(Handle, long*);
int MPI_Type_ub(Handle, long*);
int MPI_Type_size(Handle, int*);
int MPI_Type_free(Handle*);

enum { kMembersMax = 8 };

typedef struct {
  Handle type;
  int length;
  long displacement;
} Member;

static int wrong;

static void expect(const char* what, const char* call, Handle type, long lower, long upper, int size) {
  long lower_found = 0, upper_found = 0;
  int size_found = 0;
  MPI_Type_lb(type, &lower_found);
  MPI_Type_ub(type, &upper_found);
  MPI_Type_size(type, &size_found);
  if (lower_found == lower && upper_found == upper && size_found == size) return;
  fprintf(stderr, "%s, %s: bounds %ld and %ld instead of %ld and %ld, size %d instead of %d\n", what, call,
          lower_found, upper_found, lower, upper, size_found, size);
  wrong = 1;
}

/* Makes the struct by each constructor. */
static void check(const char* what, int count, const Member* members, long lower, long upper, int size) {
  int lengths[kMembersMax];
  long displacements[kMembersMax];
  long long large_lengths[kMembersMax], large_displacements[kMembersMax];
  Handle types[kMembersMax], made;
  for (int i = 0; i < count; ++i) {
    large_lengths[i] = lengths[i] = members[i].length;
    large_displacements[i] = displacements[i] = members[i].displacement;
    types[i] = members[i].type;
  }
  MPI_Type_struct(count, lengths, displacements, types, &made);
  expect(what, "MPI_Type_struct", made, lower, upper, size);
  MPI_Type_free(&made);
  MPI_Type_create_struct(count, lengths, displacements, types, &made);
  expect(what, "MPI_Type_create_struct", made, lower, upper, size);
  MPI_Type_free(&made);
  MPI_Type_create_struct_c(count, large_lengths, large_displacements, types, &made);
  expect(what, "MPI_Type_create_struct_c", made, lower, upper, size);
  MPI_Type_free(&made);
}

#define CHECK(what, lower, upper, size, ...)                                                             \
  check(what, (int)(sizeof((Member[]){__VA_ARGS__}) / sizeof(Member)), (Member[]){__VA_ARGS__}, (lower), \
        (upper), (size))

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);

  CHECK("one of each", -4, 12, 4, {LB, 1, -4}, {INT, 1, 0}, {UB, 1, 12});
  CHECK("several", -4, 20, 4, {LB, 1, 8}, {LB, 1, -4}, {INT, 1, 0}, {UB, 1, 12}, {UB, 1, 20}, {UB, 1, 16});
  CHECK("several MPI_LB", -16, 4, 4, {LB, 1, -8}, {INT, 1, 0}, {LB, 1, -16}, {LB, 1, -12});
  CHECK("several MPI_UB", 0, 16, 4, {UB, 1, 6}, {INT, 1, 0}, {UB, 1, 16}, {UB, 1, 8});
  CHECK("within the data", 4, 8, 16, {INT, 4, 0}, {LB, 1, 4}, {UB, 1, 8});
  CHECK("markers alone", -3, 5, 0, {LB, 1, -3}, {UB, 1, 5});
  CHECK("blocks of markers", -8, 24, 4, {LB, 3, -8}, {INT, 1, 0}, {UB, 2, 24});
  CHECK("some empty blocks", -8, 8, 4, {LB, 0, -100}, {LB, 1, -8}, {INT, 1, 0}, {UB, 1, 8}, {UB, 0, 100});
  CHECK("only empty blocks", 4, 8, 4, {LB, 0, -100}, {INT, 1, 4}, {UB, 0, 100});

  /* Members with bounds of their own: -4 and 12. */
  Handle marked, pair, apart, plain;
  MPI_Type_struct(3, (int[]){1, 1, 1}, (long[]){-4, 0, 12}, (Handle[]){LB, INT, UB}, &marked);
  MPI_Type_contiguous(2, marked, &pair);
  MPI_Type_create_hvector(2, 1, 32, marked, &apart);
  MPI_Type_contiguous(3, INT, &plain);
  CHECK("no marker, marked member", -4, 12, 8, {marked, 1, 0}, {INT, 1, 100});
  CHECK("markers within a member", -4, 12, 8, {LB, 1, -2}, {marked, 1, 0}, {INT, 1, 100}, {UB, 1, 8});
  CHECK("markers around a member", -20, 40, 4, {LB, 1, -20}, {marked, 1, 0}, {UB, 1, 40});
  CHECK("MPI_LB, block of marked members", 28, 60, 8, {LB, 1, 30}, {marked, 2, 32});
  CHECK("MPI_UB, block of marked members", 28, 64, 8, {marked, 2, 32}, {UB, 1, 64});
  CHECK("MPI_UB, contiguous marked elements", -4, 28, 8, {pair, 1, 0}, {UB, 1, 20});
  CHECK("MPI_LB, vector of marked elements", -8, 44, 8, {apart, 1, 0}, {LB, 1, -8});
  CHECK("MPI_LB, member without markers", 4, 12, 12, {plain, 1, 0}, {LB, 1, 4});
  CHECK("empty block of marked members", -2, 8, 4, {marked, 0, -50}, {LB, 1, -2}, {INT, 1, 0}, {UB, 1, 8});
  MPI_Type_free(&marked);
  MPI_Type_free(&pair);
  MPI_Type_free(&apart);
  MPI_Type_free(&plain);

  MPI_Finalize();
  return wrong;
}
