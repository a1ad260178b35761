/* One-sided calls that wait for a rank that is killed: on every other rank each call ends with an error that
 * names the cause, for every kind of window memory. Each call costs a rank. */
#include "fault.h"

enum { length = 1024 };

static int rank, size, victim;
static long memory[length]; /* reached by messages only */
static MPI_Win win;

static void all_here(MPI_Comm comm, const char* where) {
  const int code = MPI_Barrier(comm);
  CHECK(code == MPI_SUCCESS || class_of(code) == MPIX_ERR_PROC_FAILED, "%s: %s", where, words_of(code));
}

static MPI_Group group_of_victim(MPI_Comm comm) {
  MPI_Group all, one;
  MPI_Comm_group(comm, &all);
  MPI_Group_incl(all, 1, &victim, &one);
  MPI_Group_free(&all);
  return one;
}

/* The victim dies with the lock. */
static int lock(MPI_Comm comm) {
  if (rank == victim) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
  all_here(comm, "before the lock");
  if (rank == victim) die();
  return MPI_Win_lock(rank % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, win);
}

static int flush(MPI_Comm comm) {
  long more[length] = {rank};
  int code = MPI_Win_lock(MPI_LOCK_SHARED, victim, 0, win);
  CHECK(code == MPI_SUCCESS, "lock: %s", words_of(code));
  all_here(comm, "before the flush");
  if (rank == victim) pause_ms(5);
  if (rank == victim) die();
  /* Calls that reach the victim before it dies succeed, also while it waits in the barrier. */
  while (code == MPI_SUCCESS) {
    code = MPI_Put(more, length, MPI_LONG, victim, 0, length, MPI_LONG, win);
    if (code == MPI_SUCCESS) code = MPI_Win_flush(victim, win);
    if (code == MPI_SUCCESS) code = MPI_Get(more, 1, MPI_LONG, victim, 0, 1, MPI_LONG, win);
  }
  return code;
}

static int fence(MPI_Comm comm) {
  MPI_Win_fence(0, win);
  all_here(comm, "before the fence");
  if (rank == victim) die();
  long one = 1;
  const int code = MPI_Put(&one, 1, MPI_LONG, 0, rank, 1, MPI_LONG, win);
  CHECK(code == MPI_SUCCESS, "put: %s", words_of(code));
  return MPI_Win_fence(0, win);
}

static int start(MPI_Comm comm) {
  MPI_Group one = group_of_victim(comm);
  if (rank == victim) pause_ms(5);
  if (rank == victim) die();
  const int code = MPI_Win_start(one, 0, win);
  MPI_Group_free(&one);
  return code;
}

static int await_complete(MPI_Comm comm) {
  MPI_Group one = group_of_victim(comm);
  if (rank == victim) pause_ms(5);
  if (rank == victim) die();
  int code = MPI_Win_post(one, 0, win);
  if (code == MPI_SUCCESS) code = MPI_Win_wait(win);
  MPI_Group_free(&one);
  return code;
}

static const struct {
  const char* name;
  int shared; /* memory that other ranks reach by loads and stores */
  int (*call)(MPI_Comm);
} calls[] = {{"lock", 1, lock},          {"lock of ordinary memory", 0, lock},   {"flush", 0, flush},
             {"fence", 1, fence},        {"fence of ordinary memory", 0, fence}, {"start", 1, start},
             {"wait", 0, await_complete}};
enum { call_count = sizeof calls / sizeof calls[0] };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &own_rank_);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int i = 0; i < call_count; ++i) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    victim = size - 1;
    if (size < 2) break;
    void* base = memory;
    const int made = calls[i].shared ? MPI_Win_allocate(sizeof memory, 8, MPI_INFO_NULL, comm, &base, &win)
                                     : MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, comm, &win);
    CHECK(made == MPI_SUCCESS, "making a window: %s", words_of(made));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    all_here(comm, calls[i].name);
    const int code = calls[i].call(comm);
    CHECK(class_of(code) == MPIX_ERR_PROC_FAILED, "%s: %s", calls[i].name, words_of(code));
    CHECK(strstr(words_of(code), "SIGKILL") != NULL, "%s does not say how: %s", calls[i].name,
          words_of(code));
    MPI_Comm next;
    const int shrunk = MPIX_Comm_shrink(comm, &next);
    CHECK(shrunk == MPI_SUCCESS, "shrink after %s: %s", calls[i].name, words_of(shrunk));
    MPI_Comm_free(&comm);
    comm = next;
  }
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
