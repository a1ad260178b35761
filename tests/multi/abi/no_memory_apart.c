/* If an allocation fails on one rank in a collective call that creates a communicator or window, the call
 * returns on all ranks, and the library stays usable. Each call is repeated, and each time another allocation
 * of one rank fails. The job has a time limit, which ends it if a rank waits. */
#include "../coll/check.h"

extern void* __libc_malloc(size_t bytes);

static volatile long refuse_at = -1; /* counts down; 0: this allocation fails */
static volatile int refused;

/* Replaces the C library's malloc. */
__attribute__((visibility("default"))) void* malloc(size_t bytes) {
  if (refuse_at >= 0 && refuse_at-- == 0) {
    refused = 1;
    return NULL;
  }
  return __libc_malloc(bytes);
}

static MPI_Comm parent;
static MPI_Group group;
static MPI_Info info;
static int memory[10];
static long failures;

static int end_comm(int code, MPI_Comm* comm) {
  refuse_at = -1;
  if (code == MPI_SUCCESS) MPI_Comm_free(comm);
  return code;
}

static int end_win(int code, MPI_Win* win) {
  refuse_at = -1;
  if (code == MPI_SUCCESS) MPI_Win_free(win);
  return code;
}

static int try_dup(void) {
  MPI_Comm comm = MPI_COMM_NULL;
  return end_comm(MPI_Comm_dup(parent, &comm), &comm);
}

static int try_dup_with_info(void) {
  MPI_Comm comm = MPI_COMM_NULL;
  return end_comm(MPI_Comm_dup_with_info(parent, info, &comm), &comm);
}

static int try_idup(void) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_Comm_idup(parent, &comm, &request);
  if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  return end_comm(code, &comm);
}

static int try_create(void) {
  MPI_Comm comm = MPI_COMM_NULL;
  return end_comm(MPI_Comm_create(parent, group, &comm), &comm);
}

static int try_win_create(void) {
  MPI_Win win = MPI_WIN_NULL;
  return end_win(MPI_Win_create(memory, sizeof memory, 1, info, parent, &win), &win);
}

static int try_win_allocate(void) {
  MPI_Win win = MPI_WIN_NULL;
  int* base;
  return end_win(MPI_Win_allocate(sizeof memory, 1, MPI_INFO_NULL, parent, &base, &win), &win);
}

static int try_win_allocate_shared(void) {
  MPI_Win win = MPI_WIN_NULL;
  int* base;
  return end_win(MPI_Win_allocate_shared(sizeof memory, 1, MPI_INFO_NULL, parent, &base, &win), &win);
}

static int try_win_create_dynamic(void) {
  MPI_Win win = MPI_WIN_NULL;
  return end_win(MPI_Win_create_dynamic(MPI_INFO_NULL, parent, &win), &win);
}

static const struct {
  const char* name;
  int (*call)(void);
} tries[] = {{"dup", try_dup},
             {"dup_with_info", try_dup_with_info},
             {"idup", try_idup},
             {"create", try_create},
             {"win_create", try_win_create},
             {"win_allocate", try_win_allocate},
             {"win_allocate_shared", try_win_allocate_shared},
             {"win_create_dynamic", try_win_create_dynamic}};

/* Fails the allocations of one rank in turn, until the call needs no more. */
static void run(int number, int failing_rank) {
  const char* name = tries[number].name;
  int some_refused = 1;
  for (long at = 0; some_refused; ++at) {
    refused = 0;
    if (rank_ == failing_rank) refuse_at = at;
    const int code = tries[number].call();
    const int own = refused;
    int error_class;
    MPI_Error_class(code, &error_class);
    /* MPI_ERR_RMA_SHARED: rank 0 has no memory for the shared window of all. */
    CHECK(code == MPI_SUCCESS || error_class == MPI_ERR_NO_MEM ||
              (error_class == MPI_ERR_RMA_SHARED && failing_rank == 0),
          "%s at %ld: class %d", name, at, error_class);
    failures += rank_ == failing_rank && code != MPI_SUCCESS;
    MPI_Allreduce(&own, &some_refused, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK(some_refused || code == MPI_SUCCESS, "%s fails with memory: class %d", name, error_class);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm_dup(MPI_COMM_WORLD, &parent);
  MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
  MPI_Comm_group(parent, &group);
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
  /* The first collective of a communicator allocates. If that fails, the other ranks do wait. */
  MPI_Barrier(parent);
  for (int i = 0; i < (int)(sizeof tries / sizeof tries[0]); ++i) {
    CHECK(tries[i].call() == MPI_SUCCESS, "%s", tries[i].name);
    run(i, 0);
    run(i, 1);
  }
  CHECK(rank_ > 1 || failures > 10, "%ld failures: the test tests nothing", failures);
  MPI_Info_free(&info);
  MPI_Group_free(&group);
  MPI_Comm_free(&parent);
  MPI_Finalize();
  return 0;
}
