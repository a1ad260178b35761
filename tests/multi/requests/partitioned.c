/* Partitioned messages (MPI 5.0 section 4.2) around a ring: the two sides divide the buffer differently, are
 * created and started in any order, and run several cycles. Any number of ranks. */
#include "../coll/check.h"

enum { cycles = 5 };

static int next, previous;

static int value_at(int sender, int cycle, int at) {
  return sender * 1000003 + cycle * 10007 + at;
}

/* Marks partitions as ready in one of the three ways. */
static void make_ready(int way, int partitions, MPI_Request request) {
  if (way == 0) {
    for (int i = partitions - 1; i >= 0; --i) MPI_Pready(i, request);
  } else if (way == 1) {
    MPI_Pready_range(partitions / 2, partitions - 1, request);
    if (partitions / 2 > 0) MPI_Pready_range(0, partitions / 2 - 1, request);
  } else {
    int* list = malloc((size_t)partitions * sizeof(int));
    for (int i = 0; i < partitions; ++i) list[i] = (i * 7 + 3) % partitions; /* 7 divides no count */
    MPI_Pready_list(partitions, list, request);
    free(list);
  }
}

static void exchange(int sends, int receives, int total, int tag, int receive_first) {
  int* out = malloc((size_t)total * sizeof(int));
  int* in = malloc((size_t)total * sizeof(int));
  MPI_Request requests[2];
  for (int turn = 0; turn < 2; ++turn) {
    if (turn == receive_first) {
      MPI_Psend_init(out, sends, total / sends, MPI_INT, next, tag, MPI_COMM_WORLD, MPI_INFO_NULL,
                     &requests[0]);
    } else {
      MPI_Precv_init(in, receives, total / receives, MPI_INT, previous, tag, MPI_COMM_WORLD, MPI_INFO_NULL,
                     &requests[1]);
    }
  }
  for (int cycle = 0; cycle < cycles; ++cycle) {
    MPI_Status statuses[2];
    int flag = -1, count = -1;
    for (int i = 0; i < total; ++i) in[i] = -1;
    MPI_Parrived(requests[1], 0, &flag);
    CHECK(flag, "an inactive request has not arrived");
    if (cycle % 2 == 0) {
      MPI_Startall(2, requests);
    } else {
      MPI_Start(&requests[1]);
      MPI_Start(&requests[0]);
    }
    for (int i = 0; i < total; ++i) out[i] = value_at(rank_, cycle, i);
    make_ready(cycle % 3, sends, requests[0]);
    /* Each partition is right once it has arrived, regardless of the others. */
    for (int partition = receives - 1; partition >= 0; --partition) {
      for (flag = 0; !flag;) MPI_Parrived(requests[1], partition, &flag);
      const int length = total / receives;
      for (int i = partition * length; i < (partition + 1) * length; ++i)
        CHECK(in[i] == value_at(previous, cycle, i), "%d to %d partitions, cycle %d: number %d is %d", sends,
              receives, cycle, i, in[i]);
    }
    MPI_Waitall(2, requests, statuses);
    MPI_Get_count(&statuses[1], MPI_INT, &count);
    CHECK(statuses[1].MPI_SOURCE == previous && statuses[1].MPI_TAG == tag && count == total,
          "status: source %d tag %d count %d", statuses[1].MPI_SOURCE, statuses[1].MPI_TAG, count);
    CHECK(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL, "the requests are gone");
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  free(out);
  free(in);
}

/* One partition is sent and received while others are not ready. */
static void piece_by_piece(void) {
  enum { partitions = 4, length = 3000 };
  static int out[partitions * length], in[partitions * length];
  MPI_Request sending, receiving;
  int flag = -1;
  MPI_Psend_init(out, partitions, length, MPI_INT, next, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &sending);
  MPI_Precv_init(in, partitions, length, MPI_INT, previous, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &receiving);
  MPI_Start(&sending);
  MPI_Start(&receiving);
  for (int partition = 0; partition < partitions; ++partition) {
    for (int i = 0; i < length; ++i) out[partition * length + i] = value_at(rank_, 0, partition * length + i);
    MPI_Pready(partition, sending);
    for (flag = 0; !flag;) MPI_Parrived(receiving, partition, &flag);
    for (int i = partition * length; i < (partition + 1) * length; ++i)
      CHECK(in[i] == value_at(previous, 0, i), "partition %d: number %d is %d", partition, i, in[i]);
    if (partition + 1 < partitions) {
      MPI_Parrived(receiving, partition + 1, &flag);
      CHECK(!flag, "partition %d arrived before it was ready", partition + 1);
      MPI_Test(&sending, &flag, MPI_STATUS_IGNORE);
      CHECK(!flag, "the send is over before all partitions are ready");
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
  MPI_Wait(&receiving, MPI_STATUS_IGNORE);
  MPI_Request_free(&sending);
  MPI_Request_free(&receiving);
}

/* A partition without data arrives when it is ready, not before. */
static void no_data(void) {
  MPI_Request sending, receiving;
  int flag = -1;
  MPI_Psend_init(NULL, 2, 0, MPI_INT, next, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &sending);
  MPI_Precv_init(NULL, 4, 0, MPI_INT, previous, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &receiving);
  for (int cycle = 0; cycle < 2; ++cycle) {
    MPI_Start(&receiving);
    MPI_Start(&sending);
    MPI_Pready(1, sending);
    for (flag = 0; !flag;) MPI_Parrived(receiving, 2, &flag);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Parrived(receiving, 1, &flag);
    CHECK(!flag, "nothing arrived before it was ready");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pready(0, sending);
    MPI_Wait(&receiving, MPI_STATUS_IGNORE);
    MPI_Wait(&sending, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&sending);
  MPI_Request_free(&receiving);
}

/* Requests of one communicator and tag match in the order of their creation, and never match other messages
 * of that tag. */
static void match_in_order(void) {
  MPI_Request sends[3], receives[3], plain;
  int out[3] = {rank_ * 10, rank_ * 10 + 1, rank_ * 10 + 2}, in[3] = {-1, -1, -1}, got = -1;
  for (int i = 0; i < 3; ++i)
    MPI_Precv_init(&in[i], 1, 1, MPI_INT, previous, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &receives[i]);
  MPI_Irecv(&got, 1, MPI_INT, previous, MPI_ANY_TAG, MPI_COMM_WORLD, &plain);
  for (int i = 0; i < 3; ++i)
    MPI_Psend_init(&out[i], 1, 1, MPI_INT, next, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &sends[i]);
  for (int i = 2; i >= 0; --i) {
    MPI_Start(&sends[i]);
    MPI_Pready(0, sends[i]);
    MPI_Start(&receives[i]);
  }
  MPI_Waitall(3, receives, MPI_STATUSES_IGNORE);
  MPI_Waitall(3, sends, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 3; ++i) CHECK(in[i] == previous * 10 + i, "receive %d got %d", i, in[i]);
  const int number = rank_ + 500;
  MPI_Send(&number, 1, MPI_INT, next, 4, MPI_COMM_WORLD);
  MPI_Wait(&plain, MPI_STATUS_IGNORE);
  CHECK(got == previous + 500, "an ordinary receive got %d", got);
  for (int i = 0; i < 3; ++i) {
    MPI_Request_free(&sends[i]);
    MPI_Request_free(&receives[i]);
  }
}

/* Types whose elements are divided by the partitions of the other side. */
static void cut_elements(void) {
  enum { numbers = 60 };
  MPI_Datatype three, spread;
  MPI_Request requests[2];
  int out[numbers], in[numbers * 2];
  MPI_Type_contiguous(3, MPI_INT, &three);
  MPI_Type_contiguous(20, MPI_INT, &spread);
  MPI_Type_commit(&three);
  MPI_Type_commit(&spread);
  memset(in, 0xff, sizeof in);
  for (int i = 0; i < numbers; ++i) out[i] = value_at(rank_, 9, i);
  MPI_Precv_init(in, 3, 1, spread, previous, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  MPI_Psend_init(out, 5, 4, three, next, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Type_free(&three);
  MPI_Type_free(&spread);
  for (int cycle = 0; cycle < 2; ++cycle) {
    MPI_Startall(2, requests);
    MPI_Pready_range(0, 4, requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < numbers; ++i) CHECK(in[i] == value_at(previous, 9, i), "number %d is %d", i, in[i]);
  }
  for (int i = numbers; i < numbers * 2; ++i) CHECK(in[i] == -1, "number %d was written", i);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

static void try_errors(void) {
  MPI_Request sending, receiving, plain = MPI_REQUEST_NULL;
  int out[2] = {1, 2}, in[2], flag = -1;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Psend_init(out, 2, 1, MPI_INT, next, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &sending);
  MPI_Precv_init(in, 2, 1, MPI_INT, previous, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &receiving);
  CHECK(class_of(MPI_Pready(0, sending)) == MPI_ERR_REQUEST, "ready before it is started");
  MPI_Start(&sending);
  MPI_Start(&receiving);
  CHECK(class_of(MPI_Pready(0, receiving)) == MPI_ERR_REQUEST, "a receive can be ready");
  CHECK(class_of(MPI_Pready(2, sending)) == MPI_ERR_ARG, "partition 2 of 2");
  CHECK(class_of(MPI_Pready(-1, sending)) == MPI_ERR_ARG, "partition -1");
  CHECK(class_of(MPI_Pready_range(1, 0, sending)) == MPI_ERR_ARG, "range backwards");
  CHECK(class_of(MPI_Parrived(sending, 0, &flag)) == MPI_ERR_REQUEST, "a send arrives");
  CHECK(class_of(MPI_Parrived(receiving, 2, &flag)) == MPI_ERR_ARG, "arrived: partition 2 of 2");
  if (promised()) {
    CHECK(class_of(MPI_Cancel(&sending)) == MPI_ERR_REQUEST, "a partitioned send is cancelled");
    CHECK(class_of(MPI_Cancel(&receiving)) == MPI_ERR_REQUEST, "a partitioned receive is cancelled");
  }
  CHECK(MPI_Pready(0, sending) == MPI_SUCCESS, "ready");
  CHECK(class_of(MPI_Pready(0, sending)) == MPI_ERR_ARG, "ready twice");
  CHECK(MPI_Pready(1, sending) == MPI_SUCCESS, "ready");
  CHECK(class_of(MPI_Pready(0, plain)) == MPI_ERR_REQUEST, "MPI_REQUEST_NULL is ready");
  CHECK(MPI_Parrived(plain, 0, &flag) == MPI_SUCCESS && flag, "MPI_REQUEST_NULL has not arrived");
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
  MPI_Wait(&receiving, MPI_STATUS_IGNORE);
  MPI_Request_free(&sending);
  MPI_Request_free(&receiving);
  CHECK(class_of(MPI_Psend_init(out, -1, 1, MPI_INT, next, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &sending)) ==
            MPI_ERR_ARG,
        "-1 partitions");

  /* MPI_PROC_NULL as the peer. */
  MPI_Psend_init(out, 2, 1, MPI_INT, MPI_PROC_NULL, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &sending);
  MPI_Precv_init(in, 2, 1, MPI_INT, MPI_PROC_NULL, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &receiving);
  MPI_Start(&sending);
  MPI_Start(&receiving);
  MPI_Pready_range(0, 1, sending);
  MPI_Parrived(receiving, 1, &flag);
  CHECK(flag, "a partition from MPI_PROC_NULL has not arrived");
  MPI_Status status;
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
  MPI_Wait(&receiving, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG, "status of MPI_PROC_NULL");
  MPI_Request_free(&sending);
  MPI_Request_free(&receiving);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  next = (rank_ + 1) % size_;
  previous = (rank_ + size_ - 1) % size_;
  static const int shapes[][3] = {{1, 1, 10},   {4, 4, 4},     {1, 8, 64},      {8, 1, 64},       {6, 4, 48},
                                  {4, 6, 4800}, {3, 1, 60000}, {2, 50, 100000}, {100, 10, 100000}};
  for (int i = 0; i < (int)(sizeof shapes / sizeof shapes[0]); ++i)
    exchange(shapes[i][0], shapes[i][1], shapes[i][2], i, i % 2);
  piece_by_piece();
  no_data();
  match_in_order();
  cut_elements();
  try_errors();
  MPI_Finalize();
  return 0;
}
