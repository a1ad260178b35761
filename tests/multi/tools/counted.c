/* Runs under the counting tool, which replaces every MPI function: each call of the program goes through the
 * tool, and no call that the library makes internally does (MPI 5.0 section 15.2). Any number of ranks. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>

#include "../coll/check.h"

static struct {
  const char* name;
  long calls;
} own[200];
static int functions;
static long all;

static int note(const char* name) {
  int i = 0;
  while (i < functions && strcmp(own[i].name, name) != 0) ++i;
  if (i == functions) own[functions++].name = name;
  ++own[i].calls;
  ++all;
  return 0;
}

/* Counts the call here, calls MPI, and requires success. */
#define CALL(function, ...)                                             \
  do {                                                                  \
    note(#function);                                                    \
    CHECK(function(__VA_ARGS__) == MPI_SUCCESS, "%s fails", #function); \
  } while (0)

static int copy_attribute(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)comm;
  (void)keyval;
  (void)extra;
  *(void**)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}

static int delete_attribute(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm;
  (void)keyval;
  (void)value;
  (void)extra;
  return MPI_SUCCESS;
}

static void point_to_point(void) {
  static char data[100000], got[100000];
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  for (int length = 1; length <= (int)sizeof data; length *= 100) {
    MPI_Request requests[2];
    MPI_Status status;
    int count = -1, flag = -1;
    CALL(MPI_Irecv, got, length, MPI_CHAR, previous, 1, MPI_COMM_WORLD, &requests[0]);
    CALL(MPI_Isend, data, length, MPI_CHAR, next, 1, MPI_COMM_WORLD, &requests[1]);
    CALL(MPI_Waitall, 2, requests, MPI_STATUSES_IGNORE);
    CALL(MPI_Sendrecv, data, length, MPI_CHAR, next, 2, got, length, MPI_CHAR, previous, 2, MPI_COMM_WORLD,
         &status);
    CALL(MPI_Get_count, &status, MPI_CHAR, &count);
    CALL(MPI_Send_init, data, length, MPI_CHAR, next, 3, MPI_COMM_WORLD, &requests[0]);
    CALL(MPI_Recv_init, got, length, MPI_CHAR, previous, 3, MPI_COMM_WORLD, &requests[1]);
    CALL(MPI_Startall, 2, requests);
    CALL(MPI_Wait, &requests[1], &status);
    CALL(MPI_Wait, &requests[0], MPI_STATUS_IGNORE);
    CALL(MPI_Request_free, &requests[0]);
    CALL(MPI_Request_free, &requests[1]);
    CALL(MPI_Iprobe, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    CALL(MPI_Bsend, data, 0, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    CALL(MPI_Psend_init, data, 1, length, MPI_CHAR, next, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    CALL(MPI_Precv_init, got, 1, length, MPI_CHAR, previous, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    CALL(MPI_Start, &requests[1]);
    CALL(MPI_Start, &requests[0]);
    CALL(MPI_Pready, 0, requests[0]);
    CALL(MPI_Wait, &requests[0], MPI_STATUS_IGNORE);
    CALL(MPI_Wait, &requests[1], MPI_STATUS_IGNORE);
    CALL(MPI_Request_free, &requests[0]);
    CALL(MPI_Request_free, &requests[1]);
  }
}

static void collective(void) {
  enum { length = 1000 };
  int* all_data = calloc((size_t)size_ * length, sizeof(int));
  int* result = calloc((size_t)size_ * length, sizeof(int));
  CALL(MPI_Barrier, MPI_COMM_WORLD);
  CALL(MPI_Bcast, all_data, length, MPI_INT, 0, MPI_COMM_WORLD);
  CALL(MPI_Reduce, all_data, result, length, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  CALL(MPI_Allreduce, all_data, result, length, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  CALL(MPI_Gather, result, length, MPI_INT, all_data, length, MPI_INT, 0, MPI_COMM_WORLD);
  CALL(MPI_Scatter, all_data, length, MPI_INT, result, length, MPI_INT, 0, MPI_COMM_WORLD);
  CALL(MPI_Allgather, result, length, MPI_INT, all_data, length, MPI_INT, MPI_COMM_WORLD);
  CALL(MPI_Alltoall, all_data, length, MPI_INT, result, length, MPI_INT, MPI_COMM_WORLD);
  CALL(MPI_Scan, all_data, result, length, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CALL(MPI_Exscan, all_data, result, length, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CALL(MPI_Reduce_scatter_block, all_data, result, length, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CALL(MPI_Reduce_local, all_data, result, length, MPI_INT, MPI_SUM);
  free(all_data);
  free(result);
}

static void objects(void) {
  MPI_Comm comm, half;
  MPI_Group group, part;
  MPI_Info info, copy;
  MPI_Datatype type;
  MPI_Errhandler handler;
  int keyval = MPI_KEYVAL_INVALID, number = 0, flag = -1;
  CALL(MPI_Comm_create_keyval, copy_attribute, delete_attribute, &keyval, NULL);
  CALL(MPI_Comm_dup, MPI_COMM_WORLD, &comm);
  CALL(MPI_Comm_set_attr, comm, keyval, &number);
  CALL(MPI_Comm_split, comm, rank_ % 2, rank_, &half);
  CALL(MPI_Comm_set_name, half, "half");
  CALL(MPI_Comm_group, comm, &group);
  CALL(MPI_Group_incl, group, 1, &number, &part);
  CALL(MPI_Group_size, part, &number);
  CALL(MPI_Comm_get_errhandler, comm, &handler);
  CALL(MPI_Errhandler_free, &handler);
  CALL(MPI_Group_free, &part);
  CALL(MPI_Group_free, &group);
  CALL(MPI_Comm_free, &half);
  CALL(MPI_Comm_free, &comm);
  CALL(MPI_Comm_free_keyval, &keyval);
  CALL(MPI_Info_create, &info);
  CALL(MPI_Info_set, info, "key", "value");
  CALL(MPI_Info_dup, info, &copy);
  CALL(MPI_Info_get_nkeys, copy, &number);
  CALL(MPI_Info_free, &info);
  CALL(MPI_Info_free, &copy);
  CALL(MPI_Type_contiguous, 3, MPI_INT, &type);
  CALL(MPI_Type_commit, &type);
  CALL(MPI_Type_free, &type);
  CALL(MPI_Initialized, &flag);
}

int main(int argc, char** argv) {
  note("MPI_Init");
  MPI_Init(&argc, &argv);
  CALL(MPI_Comm_rank, MPI_COMM_WORLD, &rank_);
  CALL(MPI_Comm_size, MPI_COMM_WORLD, &size_);
  long (*counted)(const char*) = NULL;
  long (*counted_all)(void) = NULL;
  int (*replaced)(void) = NULL;
  *(void**)&counted = dlsym(RTLD_DEFAULT, "counted_calls");
  *(void**)&counted_all = dlsym(RTLD_DEFAULT, "counted_calls_of_all");
  *(void**)&replaced = dlsym(RTLD_DEFAULT, "counted_functions");
  CHECK(counted != NULL && counted_all != NULL && replaced != NULL, "the tool is not here: set LD_PRELOAD");
  CHECK(replaced() > 500, "the tool replaces %d functions only", replaced());
  point_to_point();
  collective();
  objects();
  for (int i = 0; i < functions; ++i)
    CHECK(counted(own[i].name) == own[i].calls, "%s: %ld calls, the tool counted %ld", own[i].name,
          own[i].calls, counted(own[i].name));
  CHECK(counted_all() == all, "%ld calls, the tool counted %ld: the library calls itself", all,
        counted_all());
  /* Bypasses the tool. */
  int number = -1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &number);
  CHECK(number == rank_ && counted_all() == all, "a PMPI name goes through the tool");
  CALL(MPI_Finalize);
  return counted_all() == all ? 0 : 1;
}
