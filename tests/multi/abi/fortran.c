/* Handles and statuses in Fortran's form: the inline definitions of mpi.h and the exported functions. Also
 * the functions that MPI-3.0 removed. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static int failures = 0;

#define CHECK(condition, what)                          \
  do {                                                  \
    if (!(condition)) {                                 \
      fprintf(stderr, "line %d: %s\n", __LINE__, what); \
      ++failures;                                       \
    }                                                   \
  } while (0)

/* A call through a pointer reaches the library's symbol. */
#define BOTH_WAYS(X, Handle, handle)                                                       \
  do {                                                                                     \
    MPI_Fint (*volatile c2f)(Handle) = MPI_##X##_c2f;                                      \
    Handle (*volatile f2c)(MPI_Fint) = MPI_##X##_f2c;                                      \
    CHECK(MPI_##X##_c2f(handle) == MPI_##X##_toint(handle), "MPI_" #X "_c2f");             \
    CHECK(MPI_##X##_f2c(MPI_##X##_c2f(handle)) == (handle), "MPI_" #X "_f2c");             \
    CHECK(c2f(handle) == MPI_##X##_toint(handle), "the library's MPI_" #X "_c2f");         \
    CHECK(f2c(c2f(handle)) == (handle), "the library's MPI_" #X "_f2c");                   \
    CHECK(PMPI_##X##_f2c(PMPI_##X##_c2f(handle)) == (handle), "PMPI_" #X "_c2f and _f2c"); \
  } while (0)

static int same(const MPI_Status* one, const MPI_Status* other) {
  return memcmp(one, other, sizeof *one) == 0;
}

static void handles(void) {
  MPI_Comm comm;
  MPI_Datatype type;
  MPI_Request request;
  int word = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Type_contiguous(3, MPI_INT, &type);
  MPI_Recv_init(&word, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &request);
  BOTH_WAYS(Comm, MPI_Comm, comm);
  BOTH_WAYS(Comm, MPI_Comm, MPI_COMM_WORLD);
  BOTH_WAYS(Type, MPI_Datatype, type);
  BOTH_WAYS(Type, MPI_Datatype, MPI_DOUBLE);
  BOTH_WAYS(Request, MPI_Request, request);
  BOTH_WAYS(Errhandler, MPI_Errhandler, MPI_ERRORS_RETURN);
  BOTH_WAYS(File, MPI_File, MPI_FILE_NULL);
  BOTH_WAYS(Group, MPI_Group, MPI_GROUP_EMPTY);
  BOTH_WAYS(Info, MPI_Info, MPI_INFO_NULL);
  BOTH_WAYS(Message, MPI_Message, MPI_MESSAGE_NO_PROC);
  BOTH_WAYS(Op, MPI_Op, MPI_SUM);
  BOTH_WAYS(Session, MPI_Session, MPI_SESSION_NULL);
  BOTH_WAYS(Win, MPI_Win, MPI_WIN_NULL);
  MPI_Request_free(&request);
  MPI_Type_free(&type);
  MPI_Comm_free(&comm);
}

static void statuses(void) {
  int (*volatile c2f)(const MPI_Status*, MPI_Fint*) = MPI_Status_c2f;
  int (*volatile f2c)(const MPI_Fint*, MPI_Status*) = MPI_Status_f2c;
  MPI_Status status, back;
  MPI_Fint words[MPI_F_STATUS_SIZE], others[MPI_F_STATUS_SIZE];
  int sent[3] = {1, 2, 3}, received[5], count = -1;
  MPI_Sendrecv(sent, 3, MPI_INT, 0, 7, received, 5, MPI_INT, 0, 7, MPI_COMM_SELF, &status);
  status.MPI_ERROR = 17;
  CHECK(MPI_Status_c2f(&status, words) == MPI_SUCCESS, "MPI_Status_c2f");
  CHECK(words[MPI_F_SOURCE] == 0 && words[MPI_F_TAG] == 7 && words[MPI_F_ERROR] == 17, "fields of a status");
  CHECK(MPI_Status_f2c(words, &back) == MPI_SUCCESS && same(&status, &back), "MPI_Status_f2c");
  MPI_Get_count(&back, MPI_INT, &count);
  CHECK(count == 3, "the count of a converted status");
  memset(&back, 0, sizeof back);
  CHECK(c2f(&status, others) == MPI_SUCCESS && memcmp(words, others, sizeof words) == 0,
        "the library's _c2f");
  CHECK(f2c(others, &back) == MPI_SUCCESS && same(&status, &back), "the library's _f2c");
}

static int errors_seen = 0;
static void count_error(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  ++errors_seen;
}

static void removed_types(void) {
  struct {
    char letter;
    double number;
  } sent = {'x', 2.5}, received = {0, 0};
  int lengths[2] = {1, 1};
  MPI_Aint places[2], begin, extent = 0, lb = -1, ub = 0;
  MPI_Datatype types[2] = {MPI_CHAR, MPI_DOUBLE}, pair, pairs;
  MPI_Address(&sent, &begin);
  MPI_Address(&sent.letter, &places[0]);
  MPI_Address(&sent.number, &places[1]);
  places[0] -= begin, places[1] -= begin;
  MPI_Type_struct(2, lengths, places, types, &pair);
  MPI_Type_commit(&pair);
  MPI_Sendrecv(&sent, 1, pair, 0, 0, &received, 1, pair, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  CHECK(received.letter == 'x' && received.number == 2.5, "MPI_Type_struct");
  MPI_Type_hvector(2, 1, 40, MPI_INT, &pairs);
  MPI_Type_extent(pairs, &extent);
  CHECK(extent == 44, "MPI_Type_hvector, MPI_Type_extent");
  MPI_Type_free(&pairs);
  places[0] = 8, places[1] = 32;
  MPI_Type_hindexed(2, lengths, places, MPI_INT, &pairs);
  MPI_Type_lb(pairs, &lb);
  MPI_Type_ub(pairs, &ub);
  CHECK(lb == 8 && ub == 36, "MPI_Type_hindexed, MPI_Type_lb, MPI_Type_ub");
  MPI_Type_free(&pairs);
  MPI_Type_free(&pair);
}

static void removed_errhandlers(void) {
  MPI_Errhandler handler, found = MPI_ERRHANDLER_NULL;
  MPI_Handler_function* function = count_error;
  MPI_Errhandler_create(function, &handler);
  MPI_Errhandler_set(MPI_COMM_SELF, handler);
  MPI_Send(NULL, 0, MPI_INT, 99, 0, MPI_COMM_SELF);
  CHECK(errors_seen == 1, "MPI_Errhandler_set");
  MPI_Errhandler_get(MPI_COMM_SELF, &found);
  CHECK(found == handler, "MPI_Errhandler_get");
  MPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&found);
  MPI_Errhandler_free(&handler);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  handles();
  statuses();
  removed_types();
  removed_errhandlers();
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
