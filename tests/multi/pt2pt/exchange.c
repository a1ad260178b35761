/* The combined send-receive calls around a ring, and MPI_PROC_NULL for every rank argument. */
#include "../coll/check.h"

static int next, previous;

static int value_at(int source, int length, int at) {
  return source * 1000003 + length * 17 + at;
}

static void fill(int* data, int length) {
  for (int at = 0; at < length; ++at) data[at] = value_at(rank_, length, at);
}

static void check_received(const char* call, const int* data, int length, const MPI_Status* status) {
  int count = -1;
  MPI_Get_count(status, MPI_INT, &count);
  CHECK(count == length && status->MPI_SOURCE == previous && status->MPI_TAG == 5,
        "%s of %d: status says %d from %d tag %d", call, length, count, status->MPI_SOURCE, status->MPI_TAG);
  for (int at = 0; at < length; ++at)
    CHECK(data[at] == value_at(previous, length, at), "%s of %d: number %d is %d", call, length, at,
          data[at]);
}

static void exchange(int length) {
  int* sent = malloc(((size_t)length + 1) * sizeof(int));
  int* received = calloc((size_t)length + 1, sizeof(int));
  MPI_Status status;
  MPI_Request request;
  fill(sent, length);
  MPI_Sendrecv(sent, length, MPI_INT, next, 5, received, length, MPI_INT, previous, 5, MPI_COMM_WORLD,
               &status);
  check_received("MPI_Sendrecv", received, length, &status);
  memset(received, 0, (size_t)length * sizeof(int));
  MPI_Isendrecv(sent, length, MPI_INT, next, 5, received, length, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD,
                &request);
  MPI_Wait(&request, &status);
  check_received("MPI_Isendrecv", received, length, &status);
  MPI_Sendrecv_replace(sent, length, MPI_INT, next, 5, previous, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  check_received("MPI_Sendrecv_replace", sent, length, &status);
  fill(sent, length);
  MPI_Isendrecv_replace(sent, length, MPI_INT, next, 5, previous, 5, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, &status);
  check_received("MPI_Isendrecv_replace", sent, length, &status);
  free(sent);
  free(received);
}

static void check_null(const char* call, const MPI_Status* status) {
  int count = -1;
  MPI_Get_count(status, MPI_INT, &count);
  CHECK(status->MPI_SOURCE == MPI_PROC_NULL && status->MPI_TAG == MPI_ANY_TAG && count == 0,
        "%s: status says %d from %d tag %d", call, count, status->MPI_SOURCE, status->MPI_TAG);
}

static void proc_null(void) {
  int value = 42, other = 43, flag = 0;
  const int null = MPI_PROC_NULL;
  MPI_Status status;
  MPI_Request request;
  MPI_Message message;
  MPI_Send(&value, 1, MPI_INT, null, 1, MPI_COMM_WORLD);
  MPI_Ssend(&value, 1, MPI_INT, null, 1, MPI_COMM_WORLD);
  MPI_Rsend(&value, 1, MPI_INT, null, 1, MPI_COMM_WORLD);
  MPI_Bsend(&value, 1, MPI_INT, null, 1, MPI_COMM_WORLD);
  MPI_Isend(&value, 1, MPI_INT, null, 1, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, &status);
  MPI_Issend(&value, 1, MPI_INT, null, 1, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, &status);
  MPI_Recv(&value, 1, MPI_INT, null, 1, MPI_COMM_WORLD, &status);
  check_null("MPI_Recv", &status);
  MPI_Irecv(&value, 1, MPI_INT, null, 1, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, &status);
  check_null("MPI_Irecv", &status);
  MPI_Sendrecv(&value, 1, MPI_INT, null, 1, &other, 1, MPI_INT, null, 1, MPI_COMM_WORLD, &status);
  check_null("MPI_Sendrecv", &status);
  MPI_Sendrecv_replace(&value, 1, MPI_INT, null, 1, null, 1, MPI_COMM_WORLD, &status);
  check_null("MPI_Sendrecv_replace", &status);
  MPI_Probe(null, 1, MPI_COMM_WORLD, &status);
  check_null("MPI_Probe", &status);
  MPI_Iprobe(null, 1, MPI_COMM_WORLD, &flag, &status);
  CHECK(flag, "MPI_Iprobe found nothing");
  check_null("MPI_Iprobe", &status);
  MPI_Mprobe(null, 1, MPI_COMM_WORLD, &message, &status);
  CHECK(message == MPI_MESSAGE_NO_PROC, "MPI_Mprobe gave another message");
  check_null("MPI_Mprobe", &status);
  MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
  CHECK(message == MPI_MESSAGE_NULL, "MPI_Mrecv left its message");
  check_null("MPI_Mrecv", &status);
  MPI_Improbe(null, 1, MPI_COMM_WORLD, &flag, &message, &status);
  CHECK(flag && message == MPI_MESSAGE_NO_PROC, "MPI_Improbe gave another message");
  MPI_Imrecv(&value, 1, MPI_INT, &message, &request);
  MPI_Wait(&request, &status);
  check_null("MPI_Imrecv", &status);
  for (int receives = 0; receives < 2; ++receives) {
    if (receives) {
      MPI_Recv_init(&value, 1, MPI_INT, null, 1, MPI_COMM_WORLD, &request);
    } else {
      MPI_Send_init(&value, 1, MPI_INT, null, 1, MPI_COMM_WORLD, &request);
    }
    for (int i = 0; i < 3; ++i) {
      MPI_Start(&request);
      MPI_Wait(&request, &status);
      if (receives) check_null("a persistent receive", &status);
    }
    MPI_Request_free(&request);
  }
  CHECK(value == 42 && other == 43, "%d %d: changed by a receive from MPI_PROC_NULL", value, other);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  next = (rank_ + 1) % size_;
  previous = (rank_ + size_ - 1) % size_;
  static const int lengths[] = {0, 1, 12, 13, 512, 513, 5000, 100000};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; ++i) exchange(lengths[i]);
  proc_null();
  MPI_Finalize();
  return 0;
}
