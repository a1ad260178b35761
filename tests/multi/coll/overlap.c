/* Several collectives in flight: of one communicator, with blocking ones among them, with messages beside
 * them, and persistent ones that each rank starts in its own order. */
#include "check.h"

enum { kMany = 24, kLong = 30000 };

/* Completes all requests in an order that differs by rank and turn. */
static void complete(int count, MPI_Request* requests, int turn) {
  int indices[4 * kMany], left = count, done;
  switch ((rank_ + turn) % 4) {
    case 0:
      MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
      break;
    case 1:
      for (int i = count - 1; i >= 0; --i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
      break;
    case 2:
      while (left > 0) {
        MPI_Testsome(count, requests, &done, indices, MPI_STATUSES_IGNORE);
        left -= done;
      }
      break;
    default:
      for (int i = 0; i < count; ++i) {
        int index;
        MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
        CHECK(index >= 0 && index < count, "Waitany gave %d", index);
      }
  }
}

static int value_of(int what, int rank, int index) {
  return what * 1000003 + rank * 1009 + index;
}

static void test_many_in_flight(int turn) {
  static int buffers[kMany][kLong];
  static int sums[kMany], all[kMany][64], own[kMany], from_all[kMany][64], to_all[kMany][64];
  MPI_Request requests[4 * kMany];
  int used = 0;
  for (int k = 0; k < kMany; ++k) {
    const int root = (k * 7 + turn) % size_;
    const int length = k % 5 == 0 ? kLong : k;
    for (int i = 0; i < length; ++i) buffers[k][i] = rank_ == root ? value_of(k, root, i) : -1;
    MPI_Ibcast(buffers[k], length, MPI_INT, root, MPI_COMM_WORLD, &requests[used++]);
    own[k] = value_of(k, rank_, 0);
    MPI_Iallreduce(&own[k], &sums[k], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[used++]);
    if (k % 3 == 0) MPI_Ibarrier(MPI_COMM_WORLD, &requests[used++]);
    if (k % 4 == 1) {
      /* A blocking collective among them. */
      int biggest = -1;
      MPI_Allreduce(&rank_, &biggest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
      CHECK(biggest == size_ - 1, "the blocking Allreduce gave %d", biggest);
    }
    for (int rank = 0; rank < size_; ++rank) to_all[k][rank] = value_of(k, rank_, rank);
    if (k % 2 == 0) {
      MPI_Ialltoall(to_all[k], 1, MPI_INT, from_all[k], 1, MPI_INT, MPI_COMM_WORLD, &requests[used++]);
    } else {
      MPI_Iallgather(&own[k], 1, MPI_INT, all[k], 1, MPI_INT, MPI_COMM_WORLD, &requests[used++]);
    }
    /* A message around the ring, which no collective may receive. */
    int came = -1;
    MPI_Status status;
    MPI_Sendrecv(&own[k], 1, MPI_INT, (rank_ + 1) % size_, k, &came, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
                 MPI_COMM_WORLD, &status);
    const int left = (rank_ + size_ - 1) % size_;
    CHECK(came == value_of(k, left, 0) && status.MPI_SOURCE == left && status.MPI_TAG == k,
          "the message of turn %d is wrong", k);
  }
  complete(used, requests, turn);
  for (int k = 0; k < kMany; ++k) {
    const int root = (k * 7 + turn) % size_;
    const int length = k % 5 == 0 ? kLong : k;
    for (int i = 0; i < length; ++i)
      CHECK(buffers[k][i] == value_of(k, root, i), "Ibcast %d, element %d", k, i);
    int sum = 0;
    for (int rank = 0; rank < size_; ++rank) sum += value_of(k, rank, 0);
    CHECK(sums[k] == sum, "Iallreduce %d", k);
    for (int rank = 0; rank < size_; ++rank) {
      CHECK(k % 2 == 1 || from_all[k][rank] == value_of(k, rank, rank_), "Ialltoall %d from %d", k, rank);
      CHECK(k % 2 == 0 || all[k][rank] == value_of(k, rank, 0), "Iallgather %d from %d", k, rank);
    }
  }
}

/* All ranks create them in one order (MPI 5.0 section 6.13) and start them repeatedly in different orders. */
static void test_persistent(void) {
  static int words[4][kLong], in[4], sums[4], gathered[4][64];
  MPI_Request requests[13];
  for (int k = 0; k < 4; ++k) {
    MPI_Bcast_init(words[k], k % 2 ? kLong : 3, MPI_INT, k % size_, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[3 * k]);
    MPI_Allreduce_init(&in[k], &sums[k], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &requests[3 * k + 1]);
    MPI_Gather_init(&in[k], 1, MPI_INT, gathered[k], 1, MPI_INT, k % size_, MPI_COMM_WORLD, MPI_INFO_NULL,
                    &requests[3 * k + 2]);
  }
  MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[12]);
  int flag = 0;
  MPI_Test(&requests[5], &flag, MPI_STATUS_IGNORE);
  CHECK(flag, "an inactive request is under way");
  for (int turn = 0; turn < 6; ++turn) {
    for (int k = 0; k < 4; ++k) {
      in[k] = value_of(k, rank_, turn);
      sums[k] = -1;
      const int length = k % 2 ? kLong : 3;
      for (int i = 0; i < length; ++i) words[k][i] = rank_ == k % size_ ? value_of(k, turn, i) : -1;
    }
    if (turn == 5) {
      MPI_Startall(13, requests);
    } else {
      for (int i = 0; i < 13; ++i) MPI_Start(&requests[(i * 5 + rank_ * 3 + turn) % 13]);
    }
    if (turn % 2 == 0) {
      int ones = 1, count = 0;
      MPI_Allreduce(&ones, &count, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      CHECK(count == size_, "the blocking Allreduce among persistent ones gave %d", count);
    }
    complete(13, requests, turn);
    for (int i = 0; i < 13; ++i) CHECK(requests[i] != MPI_REQUEST_NULL, "a persistent request is gone");
    for (int k = 0; k < 4; ++k) {
      const int length = k % 2 ? kLong : 3;
      for (int i = 0; i < length; ++i)
        CHECK(words[k][i] == value_of(k, turn, i), "Bcast %d, turn %d", k, turn);
      int sum = 0;
      for (int rank = 0; rank < size_; ++rank) sum += value_of(k, rank, turn);
      CHECK(sums[k] == sum, "Allreduce %d, turn %d", k, turn);
      for (int rank = 0; rank < size_ && rank_ == k % size_; ++rank)
        CHECK(gathered[k][rank] == value_of(k, rank, turn), "Gather %d, turn %d, rank %d", k, turn, rank);
    }
  }
  for (int i = 0; i < 13; ++i) MPI_Request_free(&requests[i]);
}

/* x -> a x + b, composed: the order matters. */
typedef struct {
  long a, b;
} Line;

static void chain_lines(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  const Line* first = in;
  Line* then = inout;
  for (int i = 0; i < *count; ++i) {
    then[i].b += then[i].a * first[i].b;
    then[i].a *= first[i].a;
    then[i].a %= 1000003;
    then[i].b %= 1000003;
  }
}

/* Communicator, datatype and operation may be freed as soon as the operation has started. */
static void test_freed_at_once(int persistent) {
  enum { kLines = 500 };
  MPI_Comm comm;
  MPI_Datatype line;
  MPI_Op op;
  static Line in[kLines], out[kLines];
  MPI_Request request;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Type_contiguous(2, MPI_LONG, &line);
  MPI_Type_commit(&line);
  MPI_Op_create(chain_lines, 0, &op);
  for (int i = 0; i < kLines; ++i) in[i] = (Line){rank_ + 2, i + rank_};
  if (persistent) {
    MPI_Allreduce_init(in, out, kLines, line, op, comm, MPI_INFO_NULL, &request);
    MPI_Start(&request);
  } else {
    MPI_Iallreduce(in, out, kLines, line, op, comm, &request);
  }
  MPI_Type_free(&line);
  MPI_Op_free(&op);
  MPI_Comm_free(&comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < kLines; ++i) {
    Line all = {2, i};
    int one = 1;
    for (int rank = 1; rank < size_; ++rank) {
      Line next = {rank + 2, i + rank};
      chain_lines(&all, &next, &one, NULL);
      all = next;
    }
    CHECK(out[i].a == all.a && out[i].b == all.b, "Iallreduce in order, element %d", i);
  }
  if (persistent) MPI_Request_free(&request);
}

/* Rank 0 waits in a receive while its part of a collective of several rounds must progress (MPI 5.0 sections
 * 3.7.4 and 6.12: progress). */
static void test_progress_in_other_calls(void) {
  MPI_Request request;
  for (int turn = 0; turn < 50; ++turn) {
    int word = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    if (rank_ == 0) {
      for (int from = 1; from < size_; ++from)
        MPI_Recv(&word, 1, MPI_INT, from, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Send(&word, 1, MPI_INT, 0, 99, MPI_COMM_WORLD);
    }
  }
}

/* A rank that computes and tests its request now and then does not keep the other ranks from completing. */
static void test_progress_beside_computing(void) {
  MPI_Request request;
  int done = 0, looks = 0;
  volatile double sum = 0;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  while (!done) {
    for (int i = 0; i < 1000 * (rank_ + 1); ++i) sum += i;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    CHECK(++looks < 100000000, "Ibarrier never ends");
  }
  CHECK(request == MPI_REQUEST_NULL, "the request is still there");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  for (int turn = 0; turn < 4; ++turn) test_many_in_flight(turn);
  test_persistent();
  test_freed_at_once(0);
  test_freed_at_once(1);
  test_progress_in_other_calls();
  test_progress_beside_computing();
  MPI_Finalize();
  return 0;
}
