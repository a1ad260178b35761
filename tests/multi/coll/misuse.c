/* Erroneous uses of collective requests return errors with texts, and the operation still completes. */
#include "check.h"

static void test_free_and_cancel(void) {
  MPI_Request request;
  int done = 0;
  if (size_ > 1) {
    /* The other ranks wait for rank 0, so the request is still in flight. */
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

/* A rank with too small a buffer gets an error; the ranks below it in the tree get their data. */
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

/* Amounts of data around what fits a slot, and beyond; in each collective one rank differs. */
enum { kKinds = 12, kSizes = 5, kDoubles = 8192 };
static const int sizes_[kSizes] = {1, 30, 40, 600, kDoubles};
static const char* const kind_names[kKinds] = {"Bcast",   "Reduce",    "Allreduce",  "Gather",
                                               "Scatter", "Allgather", "Alltoall",   "Reduce_scatter_block",
                                               "Scan",    "Exscan",    "Iallreduce", "Allreduce_init"};

static int call(int kind, int count, double* in, double* out, MPI_Comm comm) {
  const MPI_Datatype type = MPI_DOUBLE;
  const int root = size_ / 2;
  MPI_Request request;
  int code;
  switch (kind) {
    case 0:
      return MPI_Bcast(out, count, type, root, comm);
    case 1:
      return MPI_Reduce(in, out, count, type, MPI_SUM, root, comm);
    case 2:
      return MPI_Allreduce(in, out, count, type, MPI_SUM, comm);
    case 3:
      return MPI_Gather(in, count, type, out, count, type, root, comm);
    case 4:
      return MPI_Scatter(in, count, type, out, count, type, root, comm);
    case 5:
      return MPI_Allgather(in, count, type, out, count, type, comm);
    case 6:
      return MPI_Alltoall(in, count, type, out, count, type, comm);
    case 7:
      return MPI_Reduce_scatter_block(in, out, count, type, MPI_SUM, comm);
    case 8:
      return MPI_Scan(in, out, count, type, MPI_SUM, comm);
    case 9:
      return MPI_Exscan(in, out, count, type, MPI_SUM, comm);
    case 10:
      MPI_Iallreduce(in, out, count, type, MPI_SUM, comm, &request);
      return MPI_Wait(&request, MPI_STATUS_IGNORE);
    default:
      MPI_Allreduce_init(in, out, count, type, MPI_SUM, comm, MPI_INFO_NULL, &request);
      MPI_Start(&request);
      code = MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Request_free(&request);
      return code;
  }
}

/* At least one rank gets an error, no rank hangs in this call or the next one, and other communicators
 * work. */
static void expect_told(const char* what, int code, MPI_Comm comm) {
  int told = code != MPI_SUCCESS, all = 0, length;
  char words[MPI_MAX_ERROR_STRING];
  if (told) MPI_Error_string(code, words, &length);
  MPI_Barrier(comm);
  MPI_Allreduce(&told, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(all > 0, "%s: no rank has got an error", what);
  const int class = class_of(code);
  CHECK(!told || class == MPI_ERR_TRUNCATE || class == MPI_ERR_OTHER, "%s: class %d", what, class);
  MPI_Comm_free(&comm);
}

static MPI_Comm fresh(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return comm;
}

static int fits_flat_slots(int kind, int count) {
  return count * 8 * (kind == 4 ? size_ : 1) <= 248;
}

static void test_unequal_sizes(void) {
  double* in = calloc((size_t)kDoubles * (size_t)size_, sizeof(double));
  double* out = calloc((size_t)kDoubles * (size_t)size_, sizeof(double));
  for (int kind = 0; size_ > 1 && kind < kKinds; ++kind) {
    for (int pair = 0; pair < kSizes * kSizes; ++pair) {
      const int most = sizes_[pair % kSizes], other = sizes_[pair / kSizes];
      const int odd = pair % size_;
      /* For small data that are only copied, less data than expected are accepted. */
      const int copied = kind == 0 || kind == 3 || kind == 4;
      if (most == other || (copied && fits_flat_slots(kind, most) && fits_flat_slots(kind, other))) continue;
      const int count = rank_ == odd ? other : most;
      char what[100];
      snprintf(what, sizeof what, "%s of %d doubles, rank %d %d", kind_names[kind], most, odd, other);
      MPI_Comm comm = fresh();
      expect_told(what, call(kind, count, in, out, comm), comm);
    }
  }
  free(in);
  free(out);
}

static void test_unequal_kinds(void) {
  double* in = calloc((size_t)kDoubles * (size_t)size_, sizeof(double));
  double* out = calloc((size_t)kDoubles * (size_t)size_, sizeof(double));
  /* The collectives in which each rank reads every rank's slot: 2, 5, 6, 7. */
  static const int kinds[] = {2, 5, 6, 7};
  for (int pair = 0; size_ > 1 && pair < 16 * kSizes; ++pair) {
    const int one = kinds[pair % 4], other = kinds[pair / 4 % 4], count = sizes_[pair / 16];
    if (one == other) continue;
    char what[100];
    snprintf(what, sizeof what, "%s where others call %s, %d doubles", kind_names[other], kind_names[one],
             count);
    MPI_Comm comm = fresh();
    expect_told(what, call(rank_ == pair % size_ ? other : one, count, in, out, comm), comm);
  }
  free(in);
  free(out);
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  test_free_and_cancel();
  test_truncation(0);
  test_truncation(1);
  test_unequal_sizes();
  test_unequal_kinds();
  MPI_Finalize();
  return 0;
}
