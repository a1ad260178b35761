/* Compiled with another implementation's standard-ABI header: Hearth's library must agree with its handles,
 * structures, constants and callbacks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;
static int rank, size;

static void expect(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "rank %d of %d: %s\n", rank, size, what);
  ++failures;
}

static void is_ours(void) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0, major = -1, minor = -1;
  MPI_Get_library_version(text, &length);
  expect(strncmp(text, "Hearth", 6) == 0, "the library that runs is another one");
  MPI_Abi_get_version(&major, &minor);
  expect(major == MPI_ABI_VERSION && minor == MPI_ABI_SUBVERSION, "the ABI's version differs");
}

/* The size and name of every datatype with a constant in the header. */
static void sizes(void) {
  const struct {
    MPI_Datatype type;
    int bytes;
    const char* name;
  } rows[] = {{MPI_CHAR, 1, "MPI_CHAR"},
              {MPI_SHORT, sizeof(short), "MPI_SHORT"},
              {MPI_INT, sizeof(int), "MPI_INT"},
              {MPI_LONG, sizeof(long), "MPI_LONG"},
              {MPI_UNSIGNED_LONG_LONG, sizeof(long long), "MPI_UNSIGNED_LONG_LONG"},
              {MPI_FLOAT, sizeof(float), "MPI_FLOAT"},
              {MPI_DOUBLE, sizeof(double), "MPI_DOUBLE"},
              {MPI_LONG_DOUBLE, sizeof(long double), "MPI_LONG_DOUBLE"},
              {MPI_WCHAR, sizeof(wchar_t), "MPI_WCHAR"},
              {MPI_BYTE, 1, "MPI_BYTE"},
              {MPI_INT8_T, 1, "MPI_INT8_T"},
              {MPI_UINT64_T, 8, "MPI_UINT64_T"},
              {MPI_AINT, sizeof(MPI_Aint), "MPI_AINT"},
              {MPI_COUNT, sizeof(MPI_Count), "MPI_COUNT"},
              {MPI_OFFSET, sizeof(MPI_Offset), "MPI_OFFSET"},
              {MPI_C_DOUBLE_COMPLEX, 16, "MPI_C_DOUBLE_COMPLEX"},
              {MPI_DOUBLE_INT, sizeof(double) + sizeof(int), "MPI_DOUBLE_INT"}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    int bytes = -1, length = 0;
    char name[MPI_MAX_OBJECT_NAME] = "";
    MPI_Type_size(rows[i].type, &bytes);
    expect(bytes == rows[i].bytes, rows[i].name);
    MPI_Type_get_name(rows[i].type, name, &length);
    expect(strcmp(name, rows[i].name) == 0, name);
  }
}

/* The fields of a status are at the offsets of the header. */
static void statuses(void) {
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  double sent[3] = {rank + 0.5, -1.0, 2.0}, received[8] = {0};
  MPI_Status status;
  memset(&status, 0x5a, sizeof(status));
  MPI_Sendrecv(sent, 3, MPI_DOUBLE, next, 77, received, 8, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG,
               MPI_COMM_WORLD, &status);
  int count = -1;
  MPI_Get_count(&status, MPI_DOUBLE, &count);
  expect(status.MPI_SOURCE == previous && status.MPI_TAG == 77 && count == 3, "a status");
  expect(received[0] == previous + 0.5 && received[2] == 2.0, "received data");

  MPI_Request request = MPI_REQUEST_NULL;
  int flag = 0;
  MPI_Test(&request, &flag, &status);
  expect(flag && status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG, "an empty status");
  MPI_Recv(received, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
  expect(status.MPI_SOURCE == MPI_PROC_NULL, "a status from MPI_PROC_NULL");
}

static void weighted_sum(void* in, void* inout, int* count, MPI_Datatype* type) {
  if (*type != MPI_INT) MPI_Abort(MPI_COMM_WORLD, 3);
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += 2 * ((int*)in)[i] - ((int*)in)[i];
}

static int errors_seen = 0;
static void count_error(MPI_Comm* comm, int* code, ...) {
  int class = -1;
  MPI_Error_class(*code, &class);
  if (*comm == MPI_COMM_SELF && class == MPI_ERR_RANK) ++errors_seen;
}

static void callbacks(void) {
  MPI_Op op;
  MPI_Op_create(weighted_sum, 1, &op);
  int mine[4] = {rank, 1, 2, 3}, sum[4] = {0};
  MPI_Allreduce(mine, sum, 4, MPI_INT, op, MPI_COMM_WORLD);
  expect(sum[0] == size * (size - 1) / 2 && sum[3] == 3 * size, "a sum by the program's own operation");
  MPI_Op_free(&op);
  expect(op == MPI_OP_NULL, "a freed operation");

  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(count_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  MPI_Send(mine, 1, MPI_INT, 5, 0, MPI_COMM_SELF);
  expect(errors_seen == 1, "an error handler of the program's own");
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
}

static void communicators(void) {
  MPI_Comm half;
  int half_size = -1, result = -1, *bound = NULL, found = 0;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  MPI_Comm_size(half, &half_size);
  expect(half_size == (size + 1 - rank % 2) / 2, "the size of a half");
  MPI_Comm_compare(half, MPI_COMM_WORLD, &result);
  expect(result == (size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL), "a comparison");
  MPI_Comm_free(&half);
  expect(half == MPI_COMM_NULL, "a freed communicator");
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &found);
  expect(found && *bound >= 32767, "MPI_TAG_UB");
  double values[2] = {rank, -rank}, most[2];
  MPI_Allreduce(values, most, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  expect(most[0] == size - 1 && most[1] == 0, "a maximum");
  MPI_Allreduce(MPI_IN_PLACE, values, 2, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  expect(values[0] == 0 && values[1] == 1 - size, "a minimum in place");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  is_ours();
  sizes();
  statuses();
  callbacks();
  communicators();
  int all = -1;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
