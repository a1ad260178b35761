/* Communicators created from sessions, without MPI_Init (MPI 5.0 section 11.3.4): their calls, two
 * sessions at a time in threads, repeated sessions, buffered sends through a session's buffer. Any number of
 * ranks. */
#include <pthread.h>

#include "../coll/check.h"

enum { threads = 3, rounds = 10 };

static MPI_Session open_session(void) {
  MPI_Session session = MPI_SESSION_NULL;
  CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) == MPI_SUCCESS, "no session");
  return session;
}

static MPI_Comm comm_of(MPI_Session session, const char* set, const char* tag) {
  MPI_Group group;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Group_from_session_pset(session, set, &group);
  MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  CHECK(comm != MPI_COMM_NULL, "no communicator from %s", set);
  return comm;
}

static void use(MPI_Comm comm, int thread) {
  int rank = -1, size = -1, sum = -1, got = -1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  CHECK(rank == rank_ && size == size_, "rank %d of %d", rank, size);
  for (int i = 0; i < 20; ++i) {
    const int value = rank + thread * 1000 + i;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == size * (thread * 1000 + i) + size * (size - 1) / 2, "sum %d", sum);
    MPI_Sendrecv(&value, 1, MPI_INT, (rank + 1) % size, i, &got, 1, MPI_INT, (rank + size - 1) % size, i,
                 comm, MPI_STATUS_IGNORE);
    CHECK(got == (rank + size - 1) % size + thread * 1000 + i, "got %d", got);
  }
}

/* One session per thread. */
static void* work(void* number) {
  const int thread = (int)(long)number;
  char tag[32];
  snprintf(tag, sizeof tag, "thread %d", thread);
  for (int round = 0; round < rounds; ++round) {
    MPI_Session session = open_session();
    MPI_Comm comm = comm_of(session, "mpi://WORLD", tag), half, self;
    use(comm, thread);
    MPI_Comm_split(comm, rank_ % 2, rank_, &half);
    self = comm_of(session, "mpi://SELF", tag);
    int size = -1;
    MPI_Comm_size(half, &size);
    CHECK(size == (size_ + 1 - rank_ % 2) / 2, "half has %d", size);
    MPI_Comm_size(self, &size);
    CHECK(size == 1, "self has %d", size);
    MPI_Comm_free(&self);
    MPI_Comm_free(&half);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
  }
  return NULL;
}

/* A buffered send uses the buffer of the session from which its communicator is derived, over any number of
 * steps. */
static void use_buffer(void) {
  static char memory[20000 + MPI_BSEND_OVERHEAD];
  static char data[20000], got[20000];
  void* address = NULL;
  int bytes = -1, zero = 0;
  MPI_Session session = open_session();
  MPI_Comm comm = comm_of(session, "mpi://SELF", "buffer"), copy, parts[2];
  MPI_Group group, same;
  MPI_Session_attach_buffer(session, memory, sizeof memory);
  MPI_Comm_dup(comm, &copy);
  MPI_Comm_group(copy, &group);
  MPI_Group_incl(group, 1, &zero, &same);
  MPI_Comm_create(copy, same, &parts[0]);
  MPI_Comm_create_from_group(same, "buffer again", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &parts[1]);
  for (int i = 0; i < 2; ++i) {
    memset(data, 7 + i, sizeof data);
    MPI_Bsend(data, sizeof data, MPI_CHAR, 0, 0, parts[i]);
    memset(data, 0, sizeof data);
    MPI_Recv(got, sizeof got, MPI_CHAR, 0, 0, parts[i], MPI_STATUS_IGNORE);
    CHECK(got[0] == 7 + i && got[sizeof got - 1] == 7 + i, "message %d was not copied", i);
  }
  MPI_Session_detach_buffer(session, &address, &bytes);
  CHECK(address == memory, "another buffer");
  MPI_Group_free(&same);
  MPI_Group_free(&group);
  for (int i = 0; i < 2; ++i) MPI_Comm_free(&parts[i]);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
}

/* Errors on such a communicator go to its own handler; errors without an object go to the initial handler. */
static int calls;
static void on_error(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  ++calls;
}

static void try_errors(void) {
  MPI_Session session = open_session();
  MPI_Errhandler ours;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Comm_create_errhandler(on_error, &ours);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "errors", MPI_INFO_NULL, ours, &comm);
  CHECK(MPI_Send(NULL, 0, MPI_INT, size_, 0, comm) != MPI_SUCCESS && calls == 1, "%d calls", calls);
  MPI_Errhandler_free(&ours);
  MPI_Group_free(&group);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
}

/* MPI_TAG_UB is the only predefined attribute in the Sessions Model (MPI 5.0 section 9.1.2), also on derived
 * communicators. */
static void check_attributes(MPI_Comm comm) {
  static const int absent[] = {MPI_IO,     MPI_HOST,        MPI_WTIME_IS_GLOBAL, MPI_UNIVERSE_SIZE,
                               MPI_APPNUM, MPI_LASTUSEDCODE};
  MPI_Comm copy;
  MPI_Comm_dup(comm, &copy);
  for (int i = 0; i < 2; ++i) {
    int* value = NULL;
    int flag = -1;
    MPI_Comm_get_attr(i == 0 ? comm : copy, MPI_TAG_UB, &value, &flag);
    CHECK(flag == 1 && *value >= 32767, "MPI_TAG_UB: flag %d", flag);
    for (size_t k = 0; promised() && k < sizeof absent / sizeof absent[0]; ++k) {
      flag = -1;
      MPI_Comm_get_attr(i == 0 ? comm : copy, absent[k], &value, &flag);
      CHECK(flag == 0, "attribute %d: flag %d", absent[k], flag);
    }
  }
  MPI_Comm_free(&copy);
}

/* Names of process sets are not case-sensitive. */
static void check_cases(void) {
  static const char* const names[] = {"mpi://world", "MPI://World", "mpi://self", "mpi://Self"};
  MPI_Session session = open_session();
  for (int i = 0; i < 4; ++i) {
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Info info = MPI_INFO_NULL;
    int size = -1;
    MPI_Group_from_session_pset(session, names[i], &group);
    MPI_Group_size(group, &size);
    CHECK(size == (i < 2 ? size_ : 1), "%s has %d processes", names[i], size);
    MPI_Group_free(&group);
    MPI_Session_get_pset_info(session, names[i], &info);
    MPI_Info_free(&info);
  }
  MPI_Session_finalize(&session);
}

int main(void) {
  /* The first session provides the rank and the size. */
  MPI_Session session = open_session();
  MPI_Comm comm = comm_of(session, "mpi://WORLD", "first");
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &size_);
  use(comm, 0);
  check_attributes(comm);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);

  if (promised()) check_cases(); /* MPICH and Open MPI accept some other cases, not all */
  work((void*)0L);
  use_buffer();
  try_errors();
  pthread_t started[threads];
  for (long i = 0; i < threads; ++i) pthread_create(&started[i], NULL, work, (void*)i);
  for (int i = 0; i < threads; ++i) pthread_join(started[i], NULL);

  int flag = -1;
  MPI_Initialized(&flag);
  return flag == 0 ? 0 : 1;
}
