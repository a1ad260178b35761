/* A rank that makes the error named by its first argument (test_errors.py). Prints "went on" if the call
 * returns. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int is(const char* word, const char* other) {
  return strcmp(word, other) == 0;
}

static MPI_Errhandler handler_of(const char* name) {
  return is(name, "abort") ? MPI_ERRORS_ABORT : is(name, "fatal") ? MPI_ERRORS_ARE_FATAL : MPI_ERRORS_RETURN;
}

static void never(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  printf("the handler was called\n");
  MPI_Comm_rank(MPI_COMM_WORLD, code); /* this calls the handler again */
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  int rank = 0, size = 0;
  if (is(what, "session")) {
    MPI_Session session;
    MPI_Group group;
    MPI_Session_init(MPI_INFO_NULL, handler_of(argv[2]), &session);
    MPI_Group_from_session_pset(session, "mpi://NOWHERE", &group);
    printf("went on\n");
    MPI_Session_finalize(&session);
    return 0;
  }
  if (is(what, "sessions-only")) {
    MPI_Session session; /* its handler does not apply to errors without an object */
    MPI_Session_init(MPI_INFO_NULL, handler_of(argv[2]), &session);
    MPI_Type_free(NULL);
    printf("went on\n");
    MPI_Session_finalize(&session);
    return 0;
  }
  if (is(what, "before-init")) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("went on\n");
    return 0;
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (is(what, "comm")) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler_of(argv[2]));
    if (rank == 1) MPI_Send(NULL, 0, MPI_INT, size, 0, MPI_COMM_WORLD);
    printf("went on\n");
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (is(what, "self")) {
    if (argc > 2) MPI_Comm_set_errhandler(MPI_COMM_SELF, handler_of(argv[2]));
    if (rank == 1) MPI_Type_free(NULL);
    printf("went on\n");
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (is(what, "truncation")) {
    int words[4] = {0};
    if (rank == 0) MPI_Send(words, 4, MPI_INT, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(words, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("went on\n");
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (is(what, "default")) {
    if (rank == 1) MPI_Send(NULL, 0, MPI_INT, size, 0, MPI_COMM_WORLD);
    printf("went on\n");
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (is(what, "after-finalize")) {
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN); /* not available any more after MPI_Finalize */
    MPI_Finalize();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("went on\n");
    return 0;
  } else if (is(what, "fork")) {
    MPI_Errhandler handler = handler_of(argv[2]);
    if (is(argv[2], "user")) MPI_Comm_create_errhandler(never, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    int status = -1;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      int code = MPI_Comm_rank(MPI_COMM_WORLD, &rank), length;
      char text[MPI_MAX_ERROR_STRING];
      MPI_Error_string(code, text, &length);
      printf("child went on: %s\n", text);
      fflush(stdout);
      _exit(0);
    }
    waitpid(child, &status, 0);
    MPI_Barrier(MPI_COMM_WORLD); /* the job is unaffected */
    printf("child ended %s\n", status == 0 ? "well" : "badly");
  }
  MPI_Finalize();
  return 0;
}
