/* Requests and statuses where definitions are easy to get wrong (MPI 5.0 sections 3.7, 3.9, 3.10, 4.2): null
 * and inactive requests, empty arrays, messages to MPI_PROC_NULL, and partitioned messages without
 * partitions, without data or without a partner. Any number of ranks. */
#include "../coll/check.h"

static void spoil(MPI_Status* status) {
  memset(status, 0, sizeof *status);
  status->MPI_SOURCE = 17;
  status->MPI_TAG = 18;
  status->MPI_ERROR = 19;
  MPI_Status_set_elements(status, MPI_BYTE, 20);
  MPI_Status_set_cancelled(status, 1);
}

/* Section 3.7.3: any source, any tag, nothing received, not cancelled. */
static void expect_empty(const MPI_Status* status, const char* what) {
  int count = -1, cancelled = -1;
  MPI_Get_count(status, MPI_INT, &count);
  MPI_Test_cancelled(status, &cancelled);
  CHECK(status->MPI_SOURCE == MPI_ANY_SOURCE && status->MPI_TAG == MPI_ANY_TAG && count == 0 && !cancelled,
        "%s: source %d, tag %d, count %d, cancelled %d", what, status->MPI_SOURCE, status->MPI_TAG, count,
        cancelled);
}

static void expect_proc_null(const MPI_Status* status, const char* what) {
  int count = -1;
  MPI_Get_count(status, MPI_INT, &count);
  CHECK(status->MPI_SOURCE == MPI_PROC_NULL && status->MPI_TAG == MPI_ANY_TAG && count == 0,
        "%s: source %d, tag %d, count %d", what, status->MPI_SOURCE, status->MPI_TAG, count);
}

/* All completing calls, on two requests without an operation. */
static void expect_nothing_to_do(MPI_Request* two, const char* what) {
  const MPI_Request before[] = {two[0], two[1]};
  MPI_Status statuses[2];
  int index = 5, flag = 0, count = 5, indices[2];
  for (int i = 0; i < 2; ++i) spoil(&statuses[i]);
  MPI_Wait(&two[0], &statuses[0]);
  expect_empty(&statuses[0], what);
  spoil(&statuses[0]);
  MPI_Test(&two[0], &flag, &statuses[0]);
  CHECK(flag, "%s: MPI_Test", what);
  expect_empty(&statuses[0], what);
  spoil(&statuses[0]);
  flag = 0;
  MPI_Request_get_status(two[0], &flag, &statuses[0]);
  CHECK(flag, "%s: MPI_Request_get_status", what);
  expect_empty(&statuses[0], what);
  spoil(&statuses[0]);
  MPI_Waitall(2, two, statuses);
  expect_empty(&statuses[0], what);
  expect_empty(&statuses[1], what);
  spoil(&statuses[0]);
  flag = 0;
  MPI_Testall(2, two, &flag, statuses);
  CHECK(flag, "%s: MPI_Testall", what);
  expect_empty(&statuses[0], what);
  spoil(&statuses[0]);
  MPI_Waitany(2, two, &index, &statuses[0]);
  CHECK(index == MPI_UNDEFINED, "%s: MPI_Waitany gives %d", what, index);
  expect_empty(&statuses[0], what);
  spoil(&statuses[0]);
  flag = 0;
  index = 5;
  MPI_Testany(2, two, &index, &flag, &statuses[0]);
  CHECK(flag && index == MPI_UNDEFINED, "%s: MPI_Testany gives %d, %d", what, flag, index);
  expect_empty(&statuses[0], what);
  MPI_Waitsome(2, two, &count, indices, statuses);
  CHECK(count == MPI_UNDEFINED, "%s: MPI_Waitsome gives %d", what, count);
  count = 5;
  MPI_Testsome(2, two, &count, indices, statuses);
  CHECK(count == MPI_UNDEFINED, "%s: MPI_Testsome gives %d", what, count);
  CHECK(two[0] == before[0] && two[1] == before[1], "%s: the handles change", what);
}

static void test_nothing_to_do(void) {
  int word = 0, out = 0, index = 5, flag = 0, count = 5;
  MPI_Request requests[] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status status;
  expect_nothing_to_do(requests, "null requests");
  MPI_Recv_init(&word, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[0]);
  expect_nothing_to_do(requests, "an inactive receive and nothing");
  MPI_Send_init(&out, 1, MPI_INT, rank_, 1, MPI_COMM_WORLD, &requests[1]);
  expect_nothing_to_do(requests, "inactive requests");
  MPI_Startall(2, requests);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  expect_nothing_to_do(requests, "requests that were active");
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);

  /* Empty arrays. */
  MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
  MPI_Startall(0, NULL);
  MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE);
  CHECK(flag, "MPI_Testall of none");
  spoil(&status);
  MPI_Waitany(0, NULL, &index, &status);
  CHECK(index == MPI_UNDEFINED, "MPI_Waitany of none gives %d", index);
  expect_empty(&status, "none");
  flag = 0;
  index = 5;
  MPI_Testany(0, NULL, &index, &flag, &status);
  CHECK(flag && index == MPI_UNDEFINED, "MPI_Testany of none gives %d, %d", flag, index);
  MPI_Waitsome(0, NULL, &count, NULL, MPI_STATUSES_IGNORE);
  CHECK(count == MPI_UNDEFINED, "MPI_Waitsome of none gives %d", count);
  count = 5;
  MPI_Testsome(0, NULL, &count, NULL, MPI_STATUSES_IGNORE);
  CHECK(count == MPI_UNDEFINED, "MPI_Testsome of none gives %d", count);
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
  flag = 0;
  MPI_Request_get_status_all(0, NULL, &flag, MPI_STATUSES_IGNORE);
  CHECK(flag, "MPI_Request_get_status_all of none");
  flag = 0;
  MPI_Request_get_status_any(0, NULL, &index, &flag, &status);
  CHECK(flag && index == MPI_UNDEFINED, "MPI_Request_get_status_any of none gives %d, %d", flag, index);
  count = 5;
  MPI_Request_get_status_some(0, NULL, &count, NULL, MPI_STATUSES_IGNORE);
  CHECK(count == MPI_UNDEFINED, "MPI_Request_get_status_some of none gives %d", count);
#endif
}

/* Section 3.10: MPI_PROC_NULL completes at once and delivers nothing. */
static void test_nobody(void) {
  int word = -1, flag = 0;
  MPI_Status status;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Message message = MPI_MESSAGE_NULL;
  spoil(&status);
  MPI_Recv(&word, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &status);
  expect_proc_null(&status, "received");
  MPI_Ssend(&word, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD);
  MPI_Rsend(&word, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD);
  MPI_Bsend(&word, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD);
  spoil(&status);
  MPI_Probe(MPI_PROC_NULL, 5, MPI_COMM_WORLD, &status);
  expect_proc_null(&status, "probed");
  spoil(&status);
  MPI_Improbe(MPI_PROC_NULL, 5, MPI_COMM_WORLD, &flag, &message, &status);
  CHECK(flag && message == MPI_MESSAGE_NO_PROC, "a matched probe of MPI_PROC_NULL");
  expect_proc_null(&status, "probed and matched");
  spoil(&status);
  MPI_Mrecv(&word, 1, MPI_INT, &message, &status);
  CHECK(message == MPI_MESSAGE_NULL, "the message stays");
  expect_proc_null(&status, "received what was matched");
  MPI_Recv_init(&word, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &request);
  for (int turn = 0; turn < 2; ++turn) {
    MPI_Start(&request);
    spoil(&status);
    MPI_Wait(&request, &status);
    expect_proc_null(&status, "received again");
  }
  MPI_Request_free(&request);
  spoil(&status);
  MPI_Sendrecv_replace(&word, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD,
                       &status);
  expect_proc_null(&status, "exchanged");
  CHECK(word == -1, "%d: changed by a receive from MPI_PROC_NULL", word);
  /* MPI_PROC_NULL on one side only. */
  const int first = rank_ == 0, last = rank_ == size_ - 1;
  spoil(&status);
  MPI_Sendrecv(&rank_, 1, MPI_INT, last ? MPI_PROC_NULL : rank_ + 1, 3, &word, 1, MPI_INT,
               first ? MPI_PROC_NULL : rank_ - 1, 3, MPI_COMM_WORLD, &status);
  CHECK(word == rank_ - 1, "got %d along the line", word);
  if (first) expect_proc_null(&status, "received at the end of the line");
}

/* MPI_Request_get_status leaves the request to be completed. */
static void test_get_status(void) {
  int in = -1, flag = 0, count = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  MPI_Irecv(&in, 1, MPI_INT, rank_, 7, MPI_COMM_WORLD, &request);
  MPI_Request_get_status(request, &flag, &status);
  CHECK(!flag, "complete without a message");
  MPI_Send(&rank_, 1, MPI_INT, rank_, 7, MPI_COMM_WORLD);
  while (!flag) MPI_Request_get_status(request, &flag, &status);
  CHECK(request != MPI_REQUEST_NULL && status.MPI_SOURCE == rank_ && status.MPI_TAG == 7, "the first look");
  flag = 0;
  MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
  CHECK(flag, "the second look");
  MPI_Wait(&request, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(request == MPI_REQUEST_NULL && count == 1 && in == rank_, "completed: count %d, got %d", count, in);
  /* A receive without a message is cancelled, and completes as such. */
  MPI_Irecv(&in, 1, MPI_INT, rank_, 8, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &flag);
  CHECK(flag, "a receive that nothing came for is cancelled");
  MPI_Status_set_cancelled(&status, 0);
  MPI_Test_cancelled(&status, &flag);
  CHECK(!flag, "set not to be cancelled");
}

#if MPI_VERSION >= 4
/* A message with this many partitions of `numbers` elements goes around the ring. */
static void pass_around(int partitions, int numbers, int receive_partitions) {
  int out[64], in[64], flag = 0;
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  const int total = partitions * numbers;
  for (int i = 0; i < total; ++i) out[i] = 100 * rank_ + i;
  memset(in, -1, sizeof in);
  int code = MPI_Psend_init(out, partitions, numbers, MPI_INT, (rank_ + 1) % size_, 4, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &requests[0]);
  CHECK(code == MPI_SUCCESS, "MPI_Psend_init returns %d", code);
  code = MPI_Precv_init(in, receive_partitions, receive_partitions == 0 ? 0 : total / receive_partitions,
                        MPI_INT, (rank_ + size_ - 1) % size_, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  CHECK(code == MPI_SUCCESS, "MPI_Precv_init returns %d", code);
  expect_nothing_to_do(requests, "inactive partitioned requests");
  for (int turn = 0; turn < 2; ++turn) {
    MPI_Status statuses[2];
    MPI_Startall(2, requests);
    /* From the last to the first partition: some by a list, the rest as a range. */
    int list[2] = {partitions - 1, partitions - 2};
    const int listed = partitions < 2 ? 0 : 2;
    MPI_Pready_list(listed, list, requests[0]);
    if (partitions > listed) MPI_Pready_range(0, partitions - listed - 1, requests[0]);
    MPI_Waitall(2, requests, statuses);
    /* On an inactive request everything has arrived. */
    if (receive_partitions > 0) {
      flag = 0;
      MPI_Parrived(requests[1], receive_partitions - 1, &flag);
      CHECK(flag, "nothing arrives on an inactive request");
    }
    for (int i = 0; i < 64; ++i) {
      const int want = i < total ? 100 * ((rank_ + size_ - 1) % size_) + i : -1;
      CHECK(in[i] == want, "%d partitions of %d: number %d is %d, not %d", partitions, numbers, i, in[i],
            want);
    }
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

static void test_partitioned(void) {
  int flag = 0;
  MPI_Request request = MPI_REQUEST_NULL, null = MPI_REQUEST_NULL;
  pass_around(1, 1, 1);
  pass_around(4, 0, 2);
  pass_around(6, 4, 3);
  pass_around(3, 8, 12);
  pass_around(2, 6, 1);
  if (promised()) {
    pass_around(0, 5, 0);
    MPI_Parrived(null, 0, &flag);
    CHECK(flag, "nothing arrives on MPI_REQUEST_NULL");
  }
  /* MPI_PROC_NULL accepts all partitions and sends none that would change the buffer. */
  int words[4] = {1, 2, 3, 4};
  for (int sends = 0; sends < 2; ++sends) {
    if (sends)
      MPI_Psend_init(words, 4, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else
      MPI_Precv_init(words, 4, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int turn = 0; turn < 2; ++turn) {
      MPI_Status status;
      MPI_Start(&request);
      for (int i = 0; sends && i < 4; ++i) MPI_Pready(i, request);
      spoil(&status);
      MPI_Wait(&request, &status);
      if (!sends) expect_proc_null(&status, "partitions from MPI_PROC_NULL");
    }
    MPI_Request_free(&request);
  }
  CHECK(words[0] == 1 && words[3] == 4, "partitions from MPI_PROC_NULL were written");
  if (!promised()) return;
  const MPI_Count most = (MPI_Count)1 << 62;
  CHECK(class_of(MPI_Psend_init(words, 2, most, MPI_INT, rank_, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                                &request)) == MPI_ERR_COUNT,
        "more bytes than 64 bits can hold");
  CHECK(class_of(MPI_Psend_init(words, 8, most / 4, MPI_INT, rank_, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                                &request)) == MPI_ERR_COUNT,
        "more bytes than 64 bits can hold, with the partitions");
  CHECK(class_of(MPI_Precv_init(words, 1, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                                &request)) == MPI_ERR_RANK,
        "partitions from MPI_ANY_SOURCE");
  CHECK(class_of(MPI_Precv_init(words, 1, 1, MPI_INT, rank_, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                                &request)) == MPI_ERR_TAG,
        "partitions of any tag");
}
#endif

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  test_nothing_to_do();
  test_nobody();
  test_get_status();
#if MPI_VERSION >= 4
  test_partitioned();
#endif
  MPI_Finalize();
  return 0;
}
