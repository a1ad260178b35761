/* Persistent sends of all modes and persistent receives, started 100 times. Any number of ranks: a ring. */
#include "../coll/check.h"

enum { starts = 100, modes = 4, lengths = 3 };
static const int length_of[lengths] = {1, 1000, 30000};

static int value_at(int source, int start, int which, int at) {
  return source * 7000001 + start * 1009 + which * 31 + at;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  enum { pairs = modes * lengths };
  MPI_Request receives[pairs], sends[pairs];
  int *sent[pairs], *received[pairs];
#if MPI_VERSION * 10 + MPI_SUBVERSION >= 41
  MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
#else
  /* Room for one round of messages, and for the previous round, whose buffer may not be known to be free. */
  int room = 0;
  for (int i = 0; i < lengths; ++i) room += 2 * (length_of[i] * (int)sizeof(int) + MPI_BSEND_OVERHEAD);
  MPI_Buffer_attach(malloc((size_t)room), room);
#endif
  for (int i = 0; i < pairs; ++i) {
    const int length = length_of[i / modes];
    sent[i] = malloc((size_t)length * sizeof(int));
    received[i] = malloc((size_t)length * sizeof(int));
    MPI_Recv_init(received[i], length, MPI_INT, i % 2 ? MPI_ANY_SOURCE : previous, i, MPI_COMM_WORLD,
                  &receives[i]);
    int (*const make[modes])(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) = {
        MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init, MPI_Rsend_init};
    make[i % modes](sent[i], length, MPI_INT, next, i, MPI_COMM_WORLD, &sends[i]);
  }
  for (int start = 0; start < starts; ++start) {
    MPI_Status statuses[pairs];
    if (start % 2 == 0) {
      MPI_Startall(pairs, receives);
    } else {
      for (int i = pairs - 1; i >= 0; --i) MPI_Start(&receives[i]);
    }
    /* Ready sends need posted receives. */
    MPI_Sendrecv(NULL, 0, MPI_INT, previous, 99, NULL, 0, MPI_INT, next, 99, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < pairs; ++i)
      for (int at = 0; at < length_of[i / modes]; ++at) sent[i][at] = value_at(rank_, start, i, at);
    if (start % 3 == 0) {
      MPI_Startall(pairs, sends);
    } else {
      for (int i = 0; i < pairs; ++i) MPI_Start(&sends[i]);
    }
    MPI_Waitall(pairs, receives, statuses);
    for (int i = 0; i < pairs; ++i) {
      int count = -1;
      MPI_Get_count(&statuses[i], MPI_INT, &count);
      CHECK(count == length_of[i / modes] && statuses[i].MPI_SOURCE == previous && statuses[i].MPI_TAG == i,
            "start %d receive %d: status says %d numbers from %d tag %d", start, i, count,
            statuses[i].MPI_SOURCE, statuses[i].MPI_TAG);
      for (int at = 0; at < count; ++at)
        CHECK(received[i][at] == value_at(previous, start, i, at), "start %d receive %d number %d is %d",
              start, i, at, received[i][at]);
      CHECK(receives[i] != MPI_REQUEST_NULL, "receive %d is gone", i);
    }
    MPI_Waitall(pairs, sends, MPI_STATUSES_IGNORE);
    /* An inactive request is complete, with an empty status. */
    MPI_Status empty;
    int done = 0;
    MPI_Test(&receives[0], &done, &empty);
    CHECK(done && empty.MPI_SOURCE == MPI_ANY_SOURCE && empty.MPI_TAG == MPI_ANY_TAG,
          "inactive is not empty");
  }
  for (int i = 0; i < pairs; ++i) {
    MPI_Request_free(&sends[i]);
    MPI_Request_free(&receives[i]);
    CHECK(sends[i] == MPI_REQUEST_NULL && receives[i] == MPI_REQUEST_NULL, "a freed request is not null");
  }
  void* buffer;
  int bytes;
  MPI_Buffer_detach(&buffer, &bytes);
  for (int i = 0; i < pairs; ++i) {
    free(sent[i]);
    free(received[i]);
  }
  MPI_Finalize();
  return 0;
}
