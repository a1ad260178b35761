/* Error handlers (MPI 5.0 section 9.3): which one is called for an error, with which handle and code;
 * attaching, querying, freeing; the handler of MPI_FILE_NULL, which is the default of files. */
#include "../coll/check.h"

static int calls, last_code;
static MPI_Comm last_comm;
static MPI_File last_file;

static void on_comm(MPI_Comm* comm, int* code, ...) {
  ++calls;
  last_comm = *comm;
  last_code = *code;
}

static void on_file(MPI_File* file, int* code, ...) {
  ++calls;
  last_file = *file;
  last_code = *code;
}

static void on_session(MPI_Session* session, int* code, ...) {
  (void)session;
  (void)code;
  CHECK(0, "a session's handler is called without a session");
}

static void on_win(MPI_Win* win, int* code, ...) {
  (void)win;
  (void)code;
  CHECK(0, "a window's handler is called without a window");
}

static void expect_call(int code, int error_class, MPI_Comm comm) {
  CHECK(class_of(code) == error_class, "class %d, not %d", class_of(code), error_class);
  CHECK(calls == 1 && last_code == code && last_comm == comm, "%d calls, code %d, not %d", calls, last_code,
        code);
  calls = 0;
}

static void try_comm(void) {
  MPI_Errhandler ours, got;
  MPI_Comm world, copy;
  MPI_Comm_create_errhandler(on_comm, &ours);
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got);
  CHECK(got == MPI_ERRORS_ARE_FATAL, "MPI_COMM_WORLD does not begin with MPI_ERRORS_ARE_FATAL");
  MPI_Comm_dup(MPI_COMM_WORLD, &world);
  MPI_Comm_set_errhandler(world, ours);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, ours);
  MPI_Comm_get_errhandler(world, &got);
  CHECK(got == ours, "another handler than was set");
  MPI_Errhandler_free(&got);
  CHECK(got == MPI_ERRHANDLER_NULL, "not set to null");
  /* Freeing the handle does not end a handler that is in use. */
  MPI_Errhandler_free(&ours);
  MPI_Comm_dup(world, &copy); /* a copy inherits it */
  expect_call(MPI_Send(NULL, 1, MPI_INT, size_, 0, world), MPI_ERR_RANK, world);
  expect_call(MPI_Send(NULL, 1, MPI_INT, 0, -5, copy), MPI_ERR_TAG, copy);
  /* Without an object, or with an invalid one: the handler of MPI_COMM_SELF. */
  expect_call(MPI_Type_contiguous(-1, MPI_INT, NULL), MPI_ERR_COUNT, MPI_COMM_SELF);
  int flag = -1;
  MPI_Group group;
  MPI_Comm_group(world, &group);
  expect_call(MPI_Group_incl(group, -1, NULL, NULL), MPI_ERR_ARG, MPI_COMM_SELF); /* a group of no session */
  MPI_Group_free(&group);
  expect_call(MPI_Comm_test_inter(MPI_COMM_NULL, &flag), MPI_ERR_COMM, MPI_COMM_SELF);
  /* Errors of a request go to the handler of its communicator. */
  int number = 1;
  MPI_Request requests[2];
  MPI_Irecv(NULL, 0, MPI_INT, rank_, 1, copy, &requests[0]);
  MPI_Isend(&number, 1, MPI_INT, rank_, 1, copy, &requests[1]);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  expect_call(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE, copy);
  MPI_Recv_init(&number, 1, MPI_INT, rank_, 1, copy, &requests[0]);
  expect_call(MPI_Pready(0, requests[0]), MPI_ERR_REQUEST, copy);
  MPI_Start(&requests[0]);
  expect_call(MPI_Start(&requests[0]), MPI_ERR_REQUEST, copy);
  MPI_Cancel(&requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Request_free(&requests[0]);
  /* Called by the user: any code is accepted, and the call succeeds. */
  CHECK(MPI_Comm_call_errhandler(copy, MPI_ERR_OTHER) == MPI_SUCCESS, "call_errhandler fails");
  expect_call(MPI_ERR_OTHER, MPI_ERR_OTHER, copy);

  MPI_Errhandler for_sessions;
  MPI_Session_create_errhandler(on_session, &for_sessions);
  expect_call(MPI_Comm_set_errhandler(copy, for_sessions), MPI_ERR_ERRHANDLER, copy);
  MPI_Errhandler_free(&for_sessions);

  MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
  CHECK(class_of(MPI_Send(NULL, 1, MPI_INT, size_, 0, copy)) == MPI_ERR_RANK && calls == 0,
        "MPI_ERRORS_RETURN calls another handler");
  MPI_Comm_free(&copy);
  MPI_Comm_free(&world);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

static void try_file(void) {
  MPI_Errhandler ours, got;
  MPI_File_get_errhandler(MPI_FILE_NULL, &got);
  CHECK(got == MPI_ERRORS_RETURN, "files do not begin with MPI_ERRORS_RETURN");
  MPI_File_create_errhandler(on_file, &ours);
  MPI_File_set_errhandler(MPI_FILE_NULL, ours);
  MPI_File_get_errhandler(MPI_FILE_NULL, &got);
  CHECK(got == ours, "another handler than was set");
  MPI_Errhandler_free(&got);
  MPI_Errhandler_free(&ours);
  last_file = (MPI_File)1;
  const int code = MPI_File_delete("/nowhere/at/all", MPI_INFO_NULL);
  CHECK(code != MPI_SUCCESS && calls == 1 && last_code == code && last_file == MPI_FILE_NULL,
        "%d calls, code %d, not %d", calls, last_code, code);
  calls = 0;
  MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_IO);
  CHECK(calls == 1 && last_code == MPI_ERR_IO, "call_errhandler: %d calls", calls);
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  CHECK(MPI_File_delete("/nowhere/at/all", MPI_INFO_NULL) != MPI_SUCCESS && calls == 1, "not returned");
}

/* Handlers for windows can be created; other kinds of objects refuse them. */
static void try_window(void) {
  MPI_Errhandler ours = MPI_ERRHANDLER_NULL, got;
  MPI_Win_create_errhandler(on_win, &ours);
  CHECK(ours != MPI_ERRHANDLER_NULL, "no handler");
  CHECK(MPI_Errhandler_fromint(MPI_Errhandler_toint(ours)) == ours, "another handler by its number");
  CHECK(class_of(MPI_Comm_set_errhandler(MPI_COMM_SELF, ours)) == MPI_ERR_ERRHANDLER, "on a communicator");
  CHECK(class_of(MPI_File_set_errhandler(MPI_FILE_NULL, ours)) == MPI_ERR_ERRHANDLER, "on files");
  MPI_Comm_get_errhandler(MPI_COMM_SELF, &got);
  CHECK(got == MPI_ERRORS_RETURN, "a handler that was refused is there");
  CHECK(class_of(MPI_Win_create_errhandler(NULL, &got)) == MPI_ERR_ARG, "made of nothing");
  MPI_Errhandler_free(&ours);
  CHECK(ours == MPI_ERRHANDLER_NULL, "not set to null");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  try_comm();
  calls = 0;
  try_file();
  try_window();
  MPI_Finalize();
  return 0;
}
