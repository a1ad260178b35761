/* Probes of all kinds, with and without wildcards: all ranks but 0 send messages whose length and tag rank 0
 * learns only by probing. */
#include "../coll/check.h"

enum { kinds = 4, repeats = 5, lengths = 4 };
static const int length_of[lengths] = {0, 10, 3000, 60000};

static void send_all(void) {
  int* data = malloc((size_t)length_of[lengths - 1] * sizeof(int));
  for (int i = 0; i < kinds * repeats; ++i) {
    const int length = length_of[(i + rank_) % lengths];
    for (int at = 0; at < length; ++at) data[at] = rank_ * 1000003 + i * 17 + at;
    MPI_Send(data, length, MPI_INT, 0, i, MPI_COMM_WORLD);
  }
  free(data);
}

static void receive_one(int kind, int source, int tag, int wanted_source, int wanted_tag) {
  MPI_Status status, received;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Request request;
  int found = 0, length = -1, count = -1;
  if (kind == 0) MPI_Probe(source, tag, MPI_COMM_WORLD, &status);
  while (kind == 1 && !found) MPI_Iprobe(source, tag, MPI_COMM_WORLD, &found, &status);
  if (kind == 2) MPI_Mprobe(source, tag, MPI_COMM_WORLD, &message, &status);
  while (kind == 3 && !found) MPI_Improbe(source, tag, MPI_COMM_WORLD, &found, &message, &status);
  MPI_Get_count(&status, MPI_INT, &length);
  const int from = status.MPI_SOURCE, with = status.MPI_TAG;
  CHECK((wanted_source < 0 || from == wanted_source) && with == wanted_tag &&
            length == length_of[(with + from) % lengths],
        "kind %d: found %d numbers from %d tag %d", kind, length, from, with);
  int* data = malloc((size_t)length * sizeof(int) + 1);
  if (kind < 2) {
    MPI_Recv(data, length, MPI_INT, from, with, MPI_COMM_WORLD, &received);
  } else if (kind == 2) {
    MPI_Mrecv(data, length, MPI_INT, &message, &received);
  } else {
    MPI_Imrecv(data, length, MPI_INT, &message, &request);
    MPI_Wait(&request, &received);
  }
  CHECK(message == MPI_MESSAGE_NULL, "kind %d: the message is still there", kind);
  MPI_Get_count(&received, MPI_INT, &count);
  CHECK(received.MPI_SOURCE == from && received.MPI_TAG == with && count == length,
        "kind %d: received %d from %d tag %d", kind, count, received.MPI_SOURCE, received.MPI_TAG);
  for (int at = 0; at < length; ++at)
    CHECK(data[at] == from * 1000003 + with * 17 + at, "kind %d: number %d is %d", kind, at, data[at]);
  free(data);
}

/* A message matched by MPI_Mprobe matches no other receive. */
static void taken(void) {
  int first = 1, second = 2;
  if (rank_ == 1) {
    MPI_Send(&first, 1, MPI_INT, 0, 99, MPI_COMM_WORLD);
    MPI_Send(&second, 1, MPI_INT, 0, 99, MPI_COMM_WORLD);
  } else if (rank_ == 0) {
    MPI_Message message;
    MPI_Mprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Recv(&second, 1, MPI_INT, 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    first = 0;
    MPI_Mrecv(&first, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    CHECK(first == 1 && second == 2, "received %d and %d", first, second);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  if (rank_ == 0) {
    int found = 1;
    MPI_Iprobe(MPI_ANY_SOURCE, 1000, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    CHECK(!found, "MPI_Iprobe found a message that was not sent");
    for (int i = 0; i < kinds * repeats; ++i) {
      const int by_source = i / kinds % 2;
      for (int from = 1; from < size_; ++from) {
        receive_one(i % kinds, by_source ? from : MPI_ANY_SOURCE, by_source ? MPI_ANY_TAG : i,
                    by_source ? from : -1, i);
      }
    }
  } else {
    send_all();
  }
  taken();
  MPI_Finalize();
  return 0;
}
