/* Waiting for, testing, querying and cancelling requests. Two ranks. */
#include "../coll/check.h"

enum { many = 6 };
static int values[many];
static MPI_Request requests[many];

static void post(void) {
  for (int i = 0; i < many; ++i) {
    values[i] = -1;
    MPI_Irecv(&values[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD, &requests[i]);
  }
}

/* Asks rank 0 for the message with this tag. */
static void ask(int tag) {
  MPI_Send(&tag, 1, MPI_INT, 0, 100, MPI_COMM_WORLD);
}

static void check_one(const char* call, int index, int tag, const MPI_Status* status) {
  CHECK(index == tag && values[index] == tag * 11 && status->MPI_TAG == tag && status->MPI_SOURCE == 0,
        "%s: index %d, not %d; value %d; status has tag %d", call, index, tag, values[index],
        status->MPI_TAG);
}

static void asker(void) {
  MPI_Status status, statuses[many];
  int index = -1, done = 0, count = 0, indices[many];
  post();
  MPI_Testany(many, requests, &index, &done, &status);
  CHECK(!done && index == MPI_UNDEFINED, "MPI_Testany found request %d", index);
  MPI_Testall(many, requests, &done, statuses);
  CHECK(!done, "MPI_Testall found all");
  MPI_Testsome(many, requests, &count, indices, statuses);
  CHECK(count == 0, "MPI_Testsome found %d", count);
  MPI_Request_get_status(requests[4], &done, &status);
  CHECK(!done, "MPI_Request_get_status found it done");

  ask(4);
  while (!done) MPI_Request_get_status(requests[4], &done, &status);
  check_one("MPI_Request_get_status", 4, 4, &status);
  done = 0;
#if MPI_VERSION * 10 + MPI_SUBVERSION >= 41
  MPI_Request_get_status_any(many, requests, &index, &done, &status);
  CHECK(done, "MPI_Request_get_status_any found none");
  check_one("MPI_Request_get_status_any", index, 4, &status);
  MPI_Request_get_status_some(many, requests, &count, indices, statuses);
  CHECK(count == 1, "MPI_Request_get_status_some found %d", count);
  check_one("MPI_Request_get_status_some", indices[0], 4, &statuses[0]);
  MPI_Request_get_status_all(many, requests, &done, statuses);
  CHECK(!done && requests[4] != MPI_REQUEST_NULL, "MPI_Request_get_status_all found all");
#endif
  MPI_Waitany(many, requests, &index, &status);
  check_one("MPI_Waitany", index, 4, &status);
  CHECK(requests[4] == MPI_REQUEST_NULL, "a request that is done is not null");

  ask(2);
  done = 0;
  while (!done) MPI_Testany(many, requests, &index, &done, &status);
  check_one("MPI_Testany", index, 2, &status);
  ask(0);
  MPI_Waitsome(many, requests, &count, indices, statuses);
  CHECK(count == 1, "MPI_Waitsome found %d", count);
  check_one("MPI_Waitsome", indices[0], 0, &statuses[0]);
  ask(5);
  for (count = 0; count == 0;) MPI_Testsome(many, requests, &count, indices, statuses);
  check_one("MPI_Testsome", indices[0], 5, &statuses[0]);
  ask(1);
  ask(3);
  done = 0;
#if MPI_VERSION * 10 + MPI_SUBVERSION >= 41
  while (!done) MPI_Request_get_status_all(many, requests, &done, statuses);
  done = 0;
  MPI_Testall(many, requests, &done, statuses);
  CHECK(done, "MPI_Testall found not all");
#else
  while (!done) MPI_Testall(many, requests, &done, statuses);
#endif
  check_one("MPI_Testall", 1, 1, &statuses[1]);
  check_one("MPI_Testall", 3, 3, &statuses[3]);
  CHECK(statuses[0].MPI_SOURCE == MPI_ANY_SOURCE, "a null request has no empty status");

  MPI_Waitany(many, requests, &index, &status);
  CHECK(index == MPI_UNDEFINED, "MPI_Waitany of null requests gave %d", index);
  MPI_Waitsome(many, requests, &count, indices, statuses);
  CHECK(count == MPI_UNDEFINED, "MPI_Waitsome of null requests gave %d", count);

  post();
  for (int i = many - 1; i >= 0; --i) ask(i);
  MPI_Waitall(many, requests, statuses);
  for (int i = 0; i < many; ++i) check_one("MPI_Waitall", i, i, &statuses[i]);
}

static void answerer(void) {
  for (int answers = 0; answers < 2 * many; ++answers) {
    int tag = -1;
    MPI_Recv(&tag, 1, MPI_INT, 1, 100, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const int value = tag * 11;
    MPI_Send(&value, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
  }
}

/* A cancelled receive matches no message: the next one gets it. */
static void cancel(void) {
  int value = -1, cancelled = 0;
  MPI_Status status;
  MPI_Request request;
  if (rank_ == 1) {
    MPI_Irecv(&value, 1, MPI_INT, 0, 50, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled && value == -1, "the receive was not cancelled");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_ == 0) {
    value = 51;
    MPI_Send(&value, 1, MPI_INT, 1, 50, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&value, 1, MPI_INT, 0, 50, MPI_COMM_WORLD, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(value == 51 && !cancelled, "the receive after it got %d", value);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  CHECK(size_ == 2, "wants 2 ranks");
  if (rank_ == 0) {
    answerer();
  } else {
    asker();
  }
  cancel();
  MPI_Finalize();
  return 0;
}
