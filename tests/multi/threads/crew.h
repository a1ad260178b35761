/* Threads of a rank that all run one function, each with its number. */
#ifndef TESTS_MULTI_THREADS_CREW_H
#define TESTS_MULTI_THREADS_CREW_H

#include <pthread.h>

#include "../coll/check.h"

typedef void (*crew_body)(int thread);

struct crew_member {
  pthread_t handle;
  crew_body body;
  int number;
};

static inline void* crew_start(void* argument) {
  struct crew_member* member = argument;
  member->body(member->number);
  return NULL;
}

static inline void crew_run(int count, crew_body body) {
  struct crew_member* members = calloc((size_t)count, sizeof *members);
  for (int i = 0; i < count; ++i) {
    members[i].body = body;
    members[i].number = i;
    CHECK(pthread_create(&members[i].handle, NULL, crew_start, &members[i]) == 0, "no thread %d", i);
  }
  for (int i = 0; i < count; ++i) pthread_join(members[i].handle, NULL);
  free(members);
}

static inline void crew_init(int* argc, char*** argv) {
  int provided = -1;
  MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  CHECK(provided == MPI_THREAD_MULTIPLE, "thread level %d, not MPI_THREAD_MULTIPLE", provided);
}

#endif
