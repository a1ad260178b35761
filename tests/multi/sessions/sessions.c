/* Sessions (MPI 5.0 section 11.3): several and repeated ones, before, beside, after and without MPI_Init;
 * their results; their error handlers. The first argument is the time of MPI_Init: never, before, between or
 * after. With a second argument the initial error handler is MPI_ERRORS_RETURN. */
#include "../coll/check.h"

static int calls, last_code, errors_return;
static MPI_Session last_session;

static void on_session(MPI_Session* session, int* code, ...) {
  ++calls;
  last_session = *session;
  last_code = *code;
}

static MPI_Session open_session(void) {
  MPI_Session session = MPI_SESSION_NULL;
  CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS, "no session");
  CHECK(session != MPI_SESSION_NULL, "a null session");
  CHECK(MPI_Session_fromint(MPI_Session_toint(session)) == session, "the session's number leads elsewhere");
  return session;
}

static void close_session(MPI_Session* session) {
  CHECK(MPI_Session_finalize(session) == MPI_SUCCESS, "the session does not end");
  CHECK(*session == MPI_SESSION_NULL, "its handle stays");
}

static void check_sets(MPI_Session session) {
  int count = -1;
  MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count);
  CHECK(count >= 2, "%d process sets", count);
  int worlds = 0, selves = 0;
  for (int n = 0; n < count; ++n) {
    int length = 0;
    CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, NULL) == MPI_SUCCESS, "set %d", n);
    char* name = malloc((size_t)length);
    int room = length;
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &room, name);
    CHECK(room == length && strlen(name) + 1 == (size_t)length, "length %d, name %s", length, name);
    char cut[5] = "xxxx";
    room = 4;
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &room, cut);
    CHECK(room == length && memcmp(cut, name, 3) == 0 && cut[3] == 0, "cut to '%s'", cut);

    MPI_Info info = MPI_INFO_NULL;
    char value[16] = "";
    int flag = 0, value_length = sizeof value;
    MPI_Session_get_pset_info(session, name, &info);
    MPI_Info_get_string(info, "mpi_size", &value_length, value, &flag);
    CHECK(flag, "%s has no mpi_size", name);
    MPI_Info_free(&info);

    MPI_Group group = MPI_GROUP_NULL;
    int size = -1, rank = -1;
    MPI_Group_from_session_pset(session, name, &group);
    MPI_Group_size(group, &size);
    MPI_Group_rank(group, &rank);
    CHECK(size == atoi(value), "%s: group of %d, mpi_size %s", name, size, value);
    if (strcmp(name, "mpi://WORLD") == 0) {
      ++worlds;
      CHECK(rank == rank_ && size == size_, "rank %d of %d", rank, size);
    }
    if (strcmp(name, "mpi://SELF") == 0) {
      ++selves;
      CHECK(rank == 0 && size == 1, "rank %d of %d", rank, size);
    }
    MPI_Group_free(&group);
    free(name);
  }
  CHECK(worlds == 1 && selves == 1, "WORLD %d times, SELF %d times", worlds, selves);

  MPI_Info info = MPI_INFO_NULL;
  char value[64] = "";
  int flag = 0, length = sizeof value;
  MPI_Session_get_info(session, &info);
  MPI_Info_get_string(info, "thread_level", &length, value, &flag);
  CHECK(flag && strncmp(value, "MPI_THREAD_", 11) == 0, "thread_level '%s'", value);
  MPI_Info_free(&info);
}

static void try_errors(MPI_Session session) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Info info = MPI_INFO_NULL;
  int length = 0;
  CHECK(MPI_Group_from_session_pset(session, "mpi://NOWHERE", &group) != MPI_SUCCESS,
        "a set that does not exist");
  CHECK(MPI_Session_get_pset_info(session, "mpi://NOWHERE", &info) != MPI_SUCCESS,
        "a set that does not exist");
  CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 99, &length, NULL) != MPI_SUCCESS, "set 99");
  CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, -1, &length, NULL) != MPI_SUCCESS, "set -1");

  MPI_Errhandler ours, got;
  MPI_Session_create_errhandler(on_session, &ours);
  MPI_Session_set_errhandler(session, ours);
  MPI_Session_get_errhandler(session, &got);
  CHECK(got == ours, "another handler than was set");
  MPI_Errhandler_free(&got);
  calls = 0;
  int code = MPI_Group_from_session_pset(session, "mpi://NOWHERE", &group);
  CHECK(calls == 1 && last_code == code && last_session == session, "%d calls, code %d", calls, last_code);
  CHECK(MPI_Session_call_errhandler(session, MPI_ERR_OTHER) == MPI_SUCCESS, "call_errhandler");
  CHECK(calls == 2 && last_code == MPI_ERR_OTHER && last_session == session, "%d calls", calls);

  /* Errors of calls on a group go to the handler of the group's session (MPI 5.0 section 9.3). */
  MPI_Group empty = MPI_GROUP_NULL;
  const int too_many = size_ + 1;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  code = MPI_Group_incl(group, 1, &too_many, &empty);
  CHECK(class_of(code) == MPI_ERR_RANK && calls == 3 && last_code == code && last_session == session,
        "class %d, %d calls", class_of(code), calls);
  MPI_Group_free(&group);
  calls = 2;

  /* Errors of MPI_Session_init itself go to the handler that it was given, without a session. */
  MPI_Session none = session;
  MPI_Info_create(&info);
  MPI_Info_set(info, "thread_level", "as many as there are");
  code = MPI_Session_init(info, ours, &none);
  CHECK(class_of(code) == MPI_ERR_INFO_VALUE && calls == 3 && last_session == MPI_SESSION_NULL,
        "class %d, %d calls", class_of(code), calls);
  MPI_Info_set(info, "thread_level", "MPI_THREAD_FUNNELED");
  CHECK(MPI_Session_init(info, ours, &none) == MPI_SUCCESS && calls == 3, "funneled");
  close_session(&none);
  MPI_Info_free(&info);
  MPI_Errhandler_free(&ours);
  MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN);
}

static void try_buffers(MPI_Session session) {
  static char memory[4096];
  void* got = NULL;
  int bytes = -1;
  MPI_Request request;
  CHECK(MPI_Session_attach_buffer(session, memory, sizeof memory) == MPI_SUCCESS, "attach");
  CHECK(MPI_Session_attach_buffer(session, memory, sizeof memory) != MPI_SUCCESS, "attached twice");
  MPI_Session_flush_buffer(session);
  MPI_Session_iflush_buffer(session, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Session_detach_buffer(session, &got, &bytes);
  CHECK(got == memory && bytes == (int)sizeof memory, "detached %d bytes", bytes);
}

static void use_sessions(void) {
  MPI_Session sessions[3];
  for (int i = 0; i < 3; ++i) sessions[i] = open_session();
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < i; ++j) CHECK(sessions[i] != sessions[j], "two sessions are one");
    check_sets(sessions[i]);
  }
  try_errors(sessions[1]);
  try_buffers(sessions[2]);
  for (int i = 0; i < 3; ++i) {
    MPI_Session copy = sessions[i];
    int count;
    close_session(&sessions[i]);
    CHECK(!errors_return || i == 2 ||
              class_of(MPI_Session_get_num_psets(copy, MPI_INFO_NULL, &count)) == MPI_ERR_SESSION,
          "a session that has ended answers");
  }
}

static void check_world(int initialized, int finalized) {
  int flag = -1;
  MPI_Initialized(&flag);
  CHECK(flag == initialized, "MPI_Initialized says %d", flag);
  MPI_Finalized(&flag);
  CHECK(flag == finalized, "MPI_Finalized says %d", flag);
}

static void use_world(int by_sessions) {
  int rank = -1, size = -1, sum = -1;
  MPI_Init(NULL, NULL);
  check_world(1, 0);
  MPI_Session beside = MPI_SESSION_NULL;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (by_sessions) beside = open_session();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(rank == rank_ && size == size_, "rank %d of %d", rank, size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == size_ * (size_ - 1) / 2, "sum %d", sum);
  if (by_sessions) check_sets(beside);
  MPI_Finalize();
  check_world(1, 1);
  if (by_sessions) {
    check_sets(beside);
    close_session(&beside);
  }
}

/* A value from the launcher's environment, under the name of each launcher. MPI itself is under test and
 * cannot serve as the reference. */
static int told(const char* by_pmi, const char* by_open_mpi, const char* by_slurm, int alone) {
  const char* const names[] = {by_pmi, by_open_mpi, by_slurm};
  for (int i = 0; i < 3; ++i) {
    if (getenv(names[i]) != NULL) return atoi(getenv(names[i]));
  }
  return alone;
}

int main(int argc, char** argv) {
  const char* when = argc > 1 ? argv[1] : "never";
  errors_return = argc > 2;
  rank_ = told("PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", 0);
  size_ = told("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", 1);
  check_world(0, 0);
  if (errors_return) {
    int number;
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &number) != MPI_SUCCESS, "MPI_COMM_WORLD before MPI is started");
  }
  if (strcmp(when, "before") == 0) use_world(1);
  for (int round = 0; round < 20; ++round) use_sessions();
  if (strcmp(when, "between") == 0) {
    MPI_Session outer = open_session();
    use_world(0);
    check_sets(outer);
    MPI_Errhandler handler;
    CHECK(MPI_Session_get_errhandler(outer, &handler) == MPI_SUCCESS, "the session ended with MPI_Finalize");
    close_session(&outer);
  }
  if (strcmp(when, "after") == 0) use_world(1);
  if (strcmp(when, "never") == 0) check_world(0, 0);
  if (errors_return) {
    MPI_Session session = open_session();
    int number;
    const int initialized = MPI_Comm_size(MPI_COMM_WORLD, &number);
    CHECK(class_of(initialized) == MPI_ERR_COMM, "MPI_COMM_WORLD without MPI_Init: %d", initialized);
    close_session(&session);
  }
  return 0;
}
