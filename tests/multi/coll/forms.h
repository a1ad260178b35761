/* A collective in the form that the program's argument names: blocking, nonblocking or persistent. The
 * buffers must be the same in every form. */
#ifndef TESTS_MULTI_COLL_FORMS_H
#define TESTS_MULTI_COLL_FORMS_H

#include "check.h"

enum { kBlocking, kNonblocking, kPersistent } form_;

static void choose_form(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "blocking";
  if (strcmp(name, "nonblocking") == 0) form_ = kNonblocking;
  if (strcmp(name, "persistent") == 0) form_ = kPersistent;
  CHECK(form_ != kBlocking || strcmp(name, "blocking") == 0, "unknown form %s", name);
}

/* Completes by turns with MPI_Wait and MPI_Test; frees a persistent request. */
static void complete_form(MPI_Request* request) {
  static int turn;
  int done = 0;
  if (form_ == kPersistent) MPI_Start(request);
  if (++turn % 2 == 0) MPI_Wait(request, MPI_STATUS_IGNORE);
  while (turn % 2 == 1 && !done) MPI_Test(request, &done, MPI_STATUS_IGNORE);
  if (form_ == kPersistent) MPI_Request_free(request);
  CHECK(*request == MPI_REQUEST_NULL, "the request is still there");
}

/* One of the three functions, with these arguments. */
#define IN_FORM(blocking, nonblocking, persistent, comm, ...)    \
  do {                                                           \
    MPI_Request request_ = MPI_REQUEST_NULL;                     \
    switch (form_) {                                             \
      case kBlocking:                                            \
        blocking(__VA_ARGS__, comm);                             \
        break;                                                   \
      case kNonblocking:                                         \
        nonblocking(__VA_ARGS__, comm, &request_);               \
        break;                                                   \
      case kPersistent:                                          \
        persistent(__VA_ARGS__, comm, MPI_INFO_NULL, &request_); \
        break;                                                   \
    }                                                            \
    if (form_ != kBlocking) complete_form(&request_);            \
  } while (0)

#define COLLECTIVE_ON(comm, name, lower, ...) \
  IN_FORM(MPI_##name, MPI_I##lower, MPI_##name##_init, comm, __VA_ARGS__)
#define COLLECTIVE(name, lower, ...) COLLECTIVE_ON(MPI_COMM_WORLD, name, lower, __VA_ARGS__)
/* With large counts. */
#define LARGE_COLLECTIVE_ON(comm, name, lower, ...) \
  IN_FORM(MPI_##name##_c, MPI_I##lower##_c, MPI_##name##_init_c, comm, __VA_ARGS__)

#endif
