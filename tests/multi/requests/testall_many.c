/* MPI_Testall and MPI_Request_get_status_all handle all arrived messages in one call, however many: with a
 * limit per call, a polling loop would need time quadratic in the number of requests. Any number of ranks. */
#include "../coll/check.h"

enum { pairs = 4000, calls_max = 8 };

static int sent[pairs], received[pairs];
static MPI_Request requests[2 * pairs];

static void start_all(void) {
  for (int i = 0; i < pairs; ++i) {
    sent[i] = rank_ * pairs + i;
    received[i] = -1;
    MPI_Isend(&sent[i], 1, MPI_INT, rank_, 7, MPI_COMM_WORLD, &requests[i]);
    MPI_Irecv(&received[i], 1, MPI_INT, rank_, 7, MPI_COMM_WORLD, &requests[pairs + i]);
  }
}

static void check_data(void) {
  for (int i = 0; i < pairs; ++i) CHECK(received[i] == sent[i], "message %d: %d", i, received[i]);
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  int flag = 0, calls = 0;
  start_all();
  for (; !flag; ++calls) MPI_Testall(2 * pairs, requests, &flag, MPI_STATUSES_IGNORE);
  CHECK(calls <= calls_max, "MPI_Testall took %d calls", calls);
  check_data();
  for (int i = 0; i < 2 * pairs; ++i) CHECK(requests[i] == MPI_REQUEST_NULL, "request %d is left", i);

  start_all();
  for (flag = calls = 0; !flag; ++calls) {
    MPI_Request_get_status_all(2 * pairs, requests, &flag, MPI_STATUSES_IGNORE);
  }
  CHECK(calls <= calls_max, "MPI_Request_get_status_all took %d calls", calls);
  MPI_Waitall(2 * pairs, requests, MPI_STATUSES_IGNORE);
  check_data();
  MPI_Finalize();
  return 0;
}
