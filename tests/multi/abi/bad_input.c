/* Invalid calls that users make: each returns its error class and a helpful text. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures = 0;

/* Checks the class of an error code, and that its text contains `part`, which a user needs. */
static void expect(int line, int code, int wanted_class, const char* part) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0, error_class = -1;
  MPI_Error_class(code, &error_class);
  MPI_Error_string(code, text, &length);
  if (error_class == wanted_class && strstr(text, part) != NULL && length == (int)strlen(text)) return;
  fprintf(stderr, "line %d: class %d (wanted %d), text \"%s\" (wanted \"%s\")\n", line, error_class,
          wanted_class, text, part);
  ++failures;
}
#define EXPECT(code, wanted_class, part) expect(__LINE__, code, wanted_class, part)

static void requests(int rank) {
  int value = 1;
  MPI_Request request = MPI_REQUEST_NULL, copy;
  MPI_Status status;
  /* A null request is valid. */
  EXPECT(MPI_Wait(&request, &status), MPI_SUCCESS, "");
  MPI_Irecv(&value, 1, MPI_INT, rank, 7, MPI_COMM_WORLD, &request);
  copy = request;
  MPI_Send(&value, 1, MPI_INT, rank, 7, MPI_COMM_WORLD);
  EXPECT(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS, "");
  EXPECT(MPI_Wait(&copy, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "request");
  EXPECT(MPI_Waitall(1, &copy, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST, "array_of_requests[0]");
  EXPECT(MPI_Start(&request), MPI_ERR_REQUEST, "MPI_Start(");
  request = (MPI_Request)&value;
  EXPECT(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "request");
}

static void communicators(void) {
  int rank;
  MPI_Comm copy, freed;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  freed = copy;
  MPI_Comm_free(&copy);
  EXPECT(copy == MPI_COMM_NULL ? MPI_SUCCESS : MPI_ERR_OTHER, MPI_SUCCESS, "");
  EXPECT(MPI_Comm_rank(freed, &rank), MPI_ERR_COMM, "freed before");
  EXPECT(MPI_Comm_rank(MPI_COMM_NULL, &rank), MPI_ERR_COMM, "MPI_COMM_NULL");
  EXPECT(MPI_Comm_rank((MPI_Comm)0x12345, &rank), MPI_ERR_COMM, "0x12345");
  EXPECT(MPI_Comm_rank(MPI_COMM_WORLD, NULL), MPI_ERR_ARG, "rank is a null pointer");
}

/* So many elements that their size is 2^64 bytes, which 64-bit arithmetic would wrap to 0. */
static void beyond_64_bits(int rank) {
  const int many = 1 << 30;
  int value = 0, counts[1] = {many}, displacements[1] = {0};
  MPI_Datatype long_row, vast;
  MPI_Request request;
  MPI_Type_contiguous(many, MPI_DOUBLE, &long_row);
  MPI_Type_contiguous(2, long_row, &vast);
  MPI_Type_commit(&vast);
  EXPECT(MPI_Send(&value, many, vast, rank, 9, MPI_COMM_WORLD), MPI_ERR_COUNT, "64 bits");
  EXPECT(MPI_Isend(&value, many, vast, rank, 9, MPI_COMM_WORLD, &request), MPI_ERR_COUNT, "64 bits");
  EXPECT(MPI_Irecv(&value, many, vast, rank, 9, MPI_COMM_WORLD, &request), MPI_ERR_COUNT, "64 bits");
  EXPECT(MPI_Recv(&value, many, vast, rank, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_COUNT, "64 bits");
  EXPECT(MPI_Bcast(&value, many, vast, 0, MPI_COMM_SELF), MPI_ERR_COUNT, "64 bits");
  EXPECT(MPI_Gather(MPI_IN_PLACE, 0, MPI_INT, &value, many, vast, 0, MPI_COMM_SELF), MPI_ERR_COUNT,
         "64 bits");
  EXPECT(MPI_Allgatherv(&value, 0, MPI_INT, &value, counts, displacements, vast, MPI_COMM_SELF),
         MPI_ERR_COUNT, "64 bits");
  EXPECT(MPI_Psend_init(&value, many, 1, vast, rank, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &request),
         MPI_ERR_COUNT, "64 bits");
  MPI_Type_free(&vast);
  MPI_Type_free(&long_row);
}

/* The text of a truncation names both sides: the bytes sent and the room of the receive. */
static void truncation(int rank) {
  int sent[4] = {1, 2, 3, 4}, received[2] = {0, 0};
  MPI_Status status;
  MPI_Request request;
  MPI_Isend(sent, 4, MPI_INT, rank, 3, MPI_COMM_WORLD, &request);
  EXPECT(MPI_Recv(received, 2, MPI_INT, rank, 3, MPI_COMM_WORLD, &status), MPI_ERR_TRUNCATE, "16");
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Likewise for a partitioned message, with the program's tag instead of the tag of a partition's own
 * message. */
static void partitioned_truncation(int rank) {
  int sent[8] = {0}, received[2] = {0};
  MPI_Request requests[2];
  MPI_Status statuses[2];
  int code;
  MPI_Psend_init(sent, 4, 2, MPI_INT, rank, 77, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Precv_init(received, 1, 2, MPI_INT, rank, 77, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  MPI_Startall(2, requests);
  MPI_Pready_range(0, 3, requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  code = MPI_Wait(&requests[1], &statuses[1]);
  EXPECT(code, MPI_ERR_TRUNCATE, "tag 77; 4 partitions of 8 bytes");
  EXPECT(code, MPI_ERR_TRUNCATE, "1 partitions of 8 bytes");
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

static void types(void) {
  int value = 0;
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  EXPECT(MPI_Send(&value, 1, pair, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE, "MPI_Type_commit");
  MPI_Type_free(&pair);
  EXPECT(MPI_Send(&value, 1, pair, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE, "MPI_DATATYPE_NULL");
  EXPECT(MPI_Type_contiguous(-1, MPI_INT, &pair), MPI_ERR_COUNT, "count is -1");
}

/* A child made by fork gets an error; its parent continues. */
static void forked_child(void) {
  const pid_t child = fork();
  int status = -1;
  if (child == 0) {
    int rank;
    const int code = MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    failures = 0;
    EXPECT(code, MPI_ERR_OTHER, "fork");
    _exit(failures == 0 ? 0 : 1);
  }
  waitpid(child, &status, 0);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0 ? MPI_SUCCESS : MPI_ERR_OTHER, MPI_SUCCESS, "");
}

int main(int argc, char** argv) {
  int rank, size, value = 0, total = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  EXPECT(MPI_Send(&value, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT, "count is -1");
  EXPECT(MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD), MPI_ERR_RANK,
         "the ranks of this communicator");
  EXPECT(MPI_Send(&value, 1, MPI_INT, 0, -7, MPI_COMM_WORLD), MPI_ERR_TAG, "tag is -7");
  EXPECT(MPI_Send(NULL, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER, "buf is a null pointer");
  EXPECT(MPI_Send_c(NULL, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER, "MPI_Send_c(buf=NULL");
  EXPECT(MPI_Bcast(&value, 1, MPI_INT, size, MPI_COMM_WORLD), MPI_ERR_ROOT, "root is");
  EXPECT(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD), MPI_ERR_OP,
         "MPI_OP_NULL");
  EXPECT(MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_SUCCESS, "");
  requests(rank);
  communicators();
  beyond_64_bits(rank);
  truncation(rank);
  partitioned_truncation(rank);
  types();
  forked_child();

  MPI_Allreduce(&failures, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return total == 0 ? 0 : 1;
}
