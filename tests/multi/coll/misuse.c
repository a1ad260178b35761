/* Wrong uses of collective requests are errors with words, and the operation itself is unharmed. */
#include "check.h"

static int class_of(int code) {
  int class_;
  MPI_Error_class(code, &class_);
  return class_;
}

static void test_free_and_cancel(void) {
  MPI_Request request;
  int done = 0;
  if (size_ > 1) {
    /* Rank 0 waits for the others, so its request is surely under way. */
    if (rank_ != 0) MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    if (rank_ == 0) {
      MPI_Request before = request;
      CHECK(class_of(MPI_Request_free(&request)) == MPI_ERR_REQUEST, "Request_free of a running Ibarrier");
      CHECK(class_of(MPI_Cancel(&request)) == MPI_ERR_REQUEST, "Cancel of a running Ibarrier");
      CHECK(request == before, "the handle has changed");
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      CHECK(!done, "a barrier is over before others have come to it");
      for (int rank = 1; rank < size_; ++rank) MPI_Send(NULL, 0, MPI_INT, rank, 1, MPI_COMM_WORLD);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  CHECK(class_of(MPI_Request_free(&request)) == MPI_ERR_REQUEST, "Request_free of a started Barrier_init");
  CHECK(class_of(MPI_Start(&request)) == MPI_ERR_REQUEST, "Start of a running request");
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  CHECK(class_of(MPI_Start(&request)) == MPI_ERR_REQUEST, "Start of a request that is not persistent");
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* A rank whose buffer is too small gets an error; those behind it in the tree get their data. */
static void test_truncation(int nonblocking) {
  int words[4] = {rank_ == 0 ? 7 : 0, 0, 0, 0};
  const int room = rank_ == size_ / 2 && rank_ != 0 ? 2 : 4;
  int code;
  if (nonblocking) {
    MPI_Request request;
    MPI_Ibcast(words, room, MPI_INT, 0, MPI_COMM_WORLD, &request);
    code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(request == MPI_REQUEST_NULL, "the request is still there");
  } else {
    code = MPI_Bcast(words, room, MPI_INT, 0, MPI_COMM_WORLD);
  }
  CHECK(class_of(code) == (room == 2 ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "Bcast: class %d", class_of(code));
  CHECK(words[0] == 7, "the data did not come");
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  test_free_and_cancel();
  test_truncation(0);
  test_truncation(1);
  MPI_Finalize();
  return 0;
}
