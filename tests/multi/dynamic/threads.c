/* Several threads start processes and connect at the same time, each from a communicator of its own. */
#include <pthread.h>

#include "joint.h"

enum { kThreads = 4, kTimes = 3 };

static char* program_;

static void* run(void* argument) {
  const MPI_Comm comm = *(MPI_Comm*)argument;
  for (int i = 0; i < kTimes; ++i) {
    MPI_Comm inter;
    char* argv[] = {"child", NULL};
    MPI_Comm_spawn(program_, argv, 1, MPI_INFO_NULL, 0, comm, &inter, MPI_ERRCODES_IGNORE);
    check_messages(inter);
    MPI_Comm_disconnect(&inter);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  program_ = argv[0];
  if (argc > 1) {
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    check_messages(parent);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
  }
  MPI_Comm comms[kThreads];
  pthread_t threads[kThreads];
  for (int t = 0; t < kThreads; ++t) MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
  for (int t = 0; t < kThreads; ++t) pthread_create(&threads[t], NULL, run, &comms[t]);
  for (int t = 0; t < kThreads; ++t) pthread_join(threads[t], NULL);
  for (int t = 0; t < kThreads; ++t) MPI_Comm_free(&comms[t]);
  MPI_Finalize();
  return 0;
}
