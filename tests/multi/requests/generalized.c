/* Generalized requests (MPI 5.0 section 13.2): when each callback is called, and the effect of errors that it
 * returns. */
#include <pthread.h>
#include <time.h>

#include "../coll/check.h"

struct work {
  int queries, frees, cancels, cancel_complete;
  int query_code, free_code, cancel_code;
  int tag, count, cancelled;
};

static int query(void* state, MPI_Status* status) {
  struct work* work = state;
  ++work->queries;
  CHECK(work->frees == 0, "query after free");
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = work->tag;
  MPI_Status_set_elements(status, MPI_INT, work->count);
  MPI_Status_set_cancelled(status, work->cancelled);
  return work->query_code;
}

static int done(void* state) {
  struct work* work = state;
  ++work->frees;
  return work->free_code;
}

static int cancel(void* state, int complete) {
  struct work* work = state;
  ++work->cancels;
  work->cancel_complete = complete;
  if (!complete) work->cancelled = 1;
  return work->cancel_code;
}

static MPI_Request start(struct work* work) {
  MPI_Request request = MPI_REQUEST_NULL;
  memset(work, 0, sizeof *work);
  work->tag = 17;
  work->count = 5;
  MPI_Grequest_start(query, done, cancel, work, &request);
  CHECK(request != MPI_REQUEST_NULL, "no request");
  return request;
}

static void check_status(const MPI_Status* status) {
  int count = -1;
  MPI_Get_count(status, MPI_INT, &count);
  CHECK(status->MPI_TAG == 17 && count == 5, "status has tag %d, count %d", status->MPI_TAG, count);
}

static void try_one_by_one(void) {
  struct work work;
  MPI_Status status;
  int flag = -1;
  MPI_Request request = start(&work);
  MPI_Test(&request, &flag, &status);
  CHECK(!flag && work.queries == 0, "complete before MPI_Grequest_complete");
  MPI_Request_get_status(request, &flag, &status);
  CHECK(!flag && work.queries == 0, "complete before MPI_Grequest_complete");
  MPI_Grequest_complete(request);
  CHECK(work.queries == 0 && work.frees == 0, "MPI_Grequest_complete calls back");
  MPI_Request_get_status(request, &flag, &status);
  CHECK(flag && work.queries == 1 && work.frees == 0, "get_status: %d queries", work.queries);
  check_status(&status);
  MPI_Test(&request, &flag, &status);
  CHECK(flag && work.queries == 2 && work.frees == 1 && request == MPI_REQUEST_NULL, "test");
  check_status(&status);

  request = start(&work);
  MPI_Grequest_complete(request);
  MPI_Wait(&request, MPI_STATUS_IGNORE); /* the query function gets a status all the same */
  CHECK(work.queries == 1 && work.frees == 1 && request == MPI_REQUEST_NULL, "wait");
}

static void try_arrays(void) {
  struct work works[3];
  MPI_Request requests[4], message;
  MPI_Status statuses[4];
  int index = -1, flag = -1, count = -1, indices[4], got = -1;
  for (int i = 0; i < 3; ++i) requests[i] = start(&works[i]);
  MPI_Testall(3, requests, &flag, statuses);
  CHECK(!flag, "testall");
  MPI_Grequest_complete(requests[1]);
  MPI_Waitany(3, requests, &index, &statuses[0]);
  CHECK(index == 1 && works[1].frees == 1 && works[0].queries == 0, "waitany gave %d", index);
  check_status(&statuses[0]);
  MPI_Testany(3, requests, &index, &flag, &statuses[0]);
  CHECK(!flag && index == MPI_UNDEFINED, "testany gave %d", index);
  MPI_Grequest_complete(requests[2]);
  MPI_Waitsome(3, requests, &count, indices, statuses);
  CHECK(count == 1 && indices[0] == 2 && works[2].frees == 1, "waitsome");
  check_status(&statuses[0]);
  MPI_Grequest_complete(requests[0]);
  MPI_Testsome(3, requests, &count, indices, statuses);
  CHECK(count == 1 && indices[0] == 0 && works[0].frees == 1, "testsome");
  /* Together with a message. */
  for (int i = 0; i < 3; ++i) requests[i] = start(&works[i]);
  MPI_Irecv(&got, 1, MPI_INT, rank_, 3, MPI_COMM_WORLD, &requests[3]);
  MPI_Isend(&rank_, 1, MPI_INT, rank_, 3, MPI_COMM_WORLD, &message);
  for (int i = 0; i < 3; ++i) MPI_Grequest_complete(requests[i]);
  MPI_Waitall(4, requests, statuses);
  MPI_Wait(&message, MPI_STATUS_IGNORE);
  for (int i = 0; i < 3; ++i) {
    check_status(&statuses[i]);
    CHECK(works[i].queries == 1 && works[i].frees == 1, "waitall");
  }
  CHECK(got == rank_ && statuses[3].MPI_SOURCE == rank_, "the message got lost");
}

static void try_free_and_cancel(void) {
  struct work work;
  MPI_Status status;
  int flag = -1;
  MPI_Request request = start(&work), copy = request;
  MPI_Request_free(&request);
  CHECK(request == MPI_REQUEST_NULL && work.frees == 0, "freed before it is complete");
  work.free_code = MPI_ERR_FILE;
  CHECK(MPI_Grequest_complete(copy) == MPI_ERR_FILE, "the free function's code is lost");
  CHECK(work.frees == 1 && work.queries == 0, "complete after free: %d", work.frees);

  request = start(&work);
  MPI_Grequest_complete(request);
  work.free_code = MPI_ERR_IO;
  CHECK(MPI_Request_free(&request) == MPI_ERR_IO, "the free function's code is lost");
  CHECK(work.frees == 1 && work.queries == 0 && request == MPI_REQUEST_NULL, "free after complete");

  request = start(&work);
  MPI_Cancel(&request);
  CHECK(work.cancels == 1 && !work.cancel_complete, "cancel");
  MPI_Grequest_complete(request);
  MPI_Cancel(&request);
  CHECK(work.cancels == 2 && work.cancel_complete, "cancel after complete");
  work.cancel_code = MPI_ERR_TAG;
  CHECK(MPI_Cancel(&request) == MPI_ERR_TAG, "the cancel function's code is lost");
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &flag);
  CHECK(flag, "not cancelled");
}

static void try_errors(void) {
  struct work works[3];
  MPI_Request requests[3];
  MPI_Status statuses[3];
  int code, own_class = -1, own = -1;
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Add_error_class(&own_class);
  MPI_Add_error_code(own_class, &own);
  MPI_Add_error_string(own, "the oven is off");

  requests[0] = start(&works[0]);
  works[0].query_code = MPI_ERR_OTHER;
  MPI_Grequest_complete(requests[0]);
  CHECK(MPI_Wait(&requests[0], &statuses[0]) == MPI_ERR_OTHER, "the query function's code is lost");
  CHECK(works[0].frees == 1, "not freed after an error");

  requests[0] = start(&works[0]);
  works[0].query_code = MPI_ERR_OTHER;
  works[0].free_code = own;
  MPI_Grequest_complete(requests[0]);
  code = MPI_Wait(&requests[0], &statuses[0]);
  CHECK(code == own, "the code of the last callback counts, not %d", code);
  MPI_Error_string(code, text, &length);
  CHECK(strcmp(text, "the oven is off") == 0, "text: %s", text);

  /* The other requests of the same call complete all the same. */
  for (int i = 0; i < 3; ++i) requests[i] = start(&works[i]);
  works[0].free_code = MPI_ERR_OTHER;
  works[2].free_code = own;
  for (int i = 0; i < 3; ++i) MPI_Grequest_complete(requests[i]);
  code = MPI_Waitall(3, requests, statuses);
  CHECK(class_of(code) == MPI_ERR_IN_STATUS, "waitall gave %d", code);
  CHECK(statuses[0].MPI_ERROR == MPI_ERR_OTHER, "first status has %d", statuses[0].MPI_ERROR);
  CHECK(statuses[1].MPI_ERROR == MPI_SUCCESS, "second status has %d", statuses[1].MPI_ERROR);
  CHECK(statuses[2].MPI_ERROR == own, "third status has %d", statuses[2].MPI_ERROR);
  for (int i = 0; i < 3; ++i) {
    CHECK(requests[i] == MPI_REQUEST_NULL && works[i].frees == 1, "request %d is still there", i);
    check_status(&statuses[i]);
  }

  MPI_Irecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]);
  CHECK(class_of(MPI_Grequest_complete(requests[0])) == MPI_ERR_REQUEST, "a receive is no such request");
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
}

static MPI_Request for_thread;
static void* complete_later(void* unused) {
  struct timespec pause = {0, 30000000};
  (void)unused;
  nanosleep(&pause, NULL);
  MPI_Grequest_complete(for_thread);
  return NULL;
}

/* One thread waits while another one completes the request. */
static void try_thread(void) {
  struct work work;
  pthread_t thread;
  MPI_Status status;
  for_thread = start(&work);
  pthread_create(&thread, NULL, complete_later, NULL);
  MPI_Request request = for_thread;
  MPI_Wait(&request, &status);
  check_status(&status);
  pthread_join(thread, NULL);
}

int main(int argc, char** argv) {
  int provided = -1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  try_one_by_one();
  try_arrays();
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  try_free_and_cancel();
  try_errors();
  if (provided == MPI_THREAD_MULTIPLE) try_thread();
  MPI_Finalize();
  return 0;
}
