/* Thread levels (MPI 5.0 section 11.6), and the first action of MPI_Finalize: it deletes the attributes of
 * MPI_COMM_SELF in reverse order of setting, while MPI still works (section 11.4.1). The argument is the
 * level. */
#include <pthread.h>

#include "../coll/check.h"

enum { keys = 5 };
static int deleted[keys], deletions;

static int on_delete(MPI_Comm comm, int keyval, void* value, void* extra) {
  int flag = -1, number = -1;
  (void)keyval;
  (void)extra;
  CHECK(comm == MPI_COMM_SELF, "deleted on another communicator");
  MPI_Finalized(&flag);
  CHECK(!flag, "MPI is finalized already");
  /* MPI still works. */
  MPI_Sendrecv(&rank_, 1, MPI_INT, 0, 0, &number, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  CHECK(number == rank_, "a message got lost");
  MPI_Barrier(MPI_COMM_WORLD);
  deleted[deletions++] = *(int*)value;
  return MPI_SUCCESS;
}

static void* ask(void* main_thread) {
  int flag = -1;
  MPI_Is_thread_main(&flag);
  *(int*)main_thread = flag;
  return NULL;
}

int main(int argc, char** argv) {
  static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                               MPI_THREAD_MULTIPLE};
  static int values[keys];
  const int asked = argc > 1 ? levels[atoi(argv[1])] : MPI_THREAD_SINGLE;
  int provided = -1, flag = -1, queried = -1;
  MPI_Init_thread(&argc, &argv, asked, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  CHECK(provided >= asked, "asked for %d, got %d", asked, provided);
  MPI_Query_thread(&queried);
  CHECK(queried == provided, "provided %d, queried %d", provided, queried);
  MPI_Is_thread_main(&flag);
  CHECK(flag, "this is not the main thread");
  /* For tools (MPI 5.0 section 15.2.4); the library itself accepts any level and any further arguments. */
  for (int profiling = -1; profiling <= 3; ++profiling)
    CHECK(MPI_Pcontrol(profiling, "more", &profiling) == MPI_SUCCESS, "MPI_Pcontrol(%d)", profiling);
  if (provided >= MPI_THREAD_SERIALIZED) {
    pthread_t thread;
    int main_thread = -1;
    pthread_create(&thread, NULL, ask, &main_thread);
    pthread_join(thread, NULL);
    CHECK(main_thread == 0, "another thread is the main thread");
  }
  for (int i = 0; i < keys; ++i) {
    int keyval = MPI_KEYVAL_INVALID;
    values[i] = i;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &values[i]);
    MPI_Comm_free_keyval(&keyval);
  }
  MPI_Finalize();
  if (deletions != keys) return 1;
  for (int i = 0; i < keys; ++i)
    if (deleted[i] != keys - 1 - i) return 2;
  MPI_Initialized(&flag);
  if (!flag) return 3;
  MPI_Finalized(&flag);
  return flag ? 0 : 4;
}
