/* MPI_THREAD_MULTIPLE: threads of two ranks play ping-pong in pairs, each pair with its own tag or
 * communicator; then all threads of a rank receive from any source with one tag. */
#include <pthread.h>

#include "../coll/check.h"

enum { threads = 4, rounds = 300, messages = 400, length_max = 6000 };

static MPI_Comm comms[threads];
static long received_sum, received_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int length_of(int round) {
  return round % 50 == 0 ? length_max : round % 7 * 9 + 1;
}

static void ping_pong(int thread, int tag, MPI_Comm comm) {
  int* data = malloc(length_max * sizeof(int));
  const int peer = rank_ ^ 1;
  for (int round = 0; round < rounds; ++round) {
    const int length = length_of(round), base = (thread * rounds + round) * 64;
    if (rank_ % 2 == 0) {
      for (int i = 0; i < length; ++i) data[i] = base + i;
      MPI_Send(data, length, MPI_INT, peer, tag, comm);
    }
    MPI_Status status;
    int count = -1;
    MPI_Recv(data, length_max, MPI_INT, peer, tag, comm, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == length, "thread %d round %d: %d numbers, not %d", thread, round, count, length);
    for (int i = 0; i < length; ++i)
      CHECK(data[i] == base + i, "thread %d round %d: number %d is %d", thread, round, i, data[i]);
    if (rank_ % 2 == 1) MPI_Send(data, length, MPI_INT, peer, tag, comm);
  }
  free(data);
}

static void* play(void* number) {
  const int thread = (int)(long)number;
  if ((rank_ ^ 1) < size_) {
    ping_pong(thread, thread, MPI_COMM_WORLD);
    ping_pong(thread, 7, comms[thread]);
  }
  return NULL;
}

/* Each thread sends its share to all ranks and receives as many messages from any source, in any
 * assignment. */
static void* share(void* number) {
  const int thread = (int)(long)number;
  long sum = 0;
  for (int i = 0; i < messages; ++i) {
    const long value = ((long)rank_ * threads + thread) * messages + i;
    long got = -1;
    MPI_Request request;
    MPI_Isend(&value, 1, MPI_LONG, (rank_ + i) % size_, 8, MPI_COMM_WORLD, &request);
    MPI_Recv(&got, 1, MPI_LONG, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    sum += got;
  }
  pthread_mutex_lock(&lock);
  received_sum += sum;
  received_count += messages;
  pthread_mutex_unlock(&lock);
  return NULL;
}

static void run(void* (*body)(void*)) {
  pthread_t started[threads];
  for (long i = 0; i < threads; ++i)
    CHECK(pthread_create(&started[i], NULL, body, (void*)i) == 0, "no thread");
  for (int i = 0; i < threads; ++i) pthread_join(started[i], NULL);
}

int main(int argc, char** argv) {
  int provided = -1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  CHECK(provided == MPI_THREAD_MULTIPLE, "threads: %d", provided);
  CHECK(messages % size_ == 0, "%d messages cannot be dealt to all ranks evenly", messages);
  for (int i = 0; i < threads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  run(play);
  MPI_Barrier(MPI_COMM_WORLD);
  run(share);
  long total = 0;
  MPI_Allreduce(&received_sum, &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  const long count = (long)size_ * threads * messages;
  CHECK(total == count * (count - 1) / 2, "all received numbers sum up to %ld, not %ld", total,
        count * (count - 1) / 2);
  for (int i = 0; i < threads; ++i) MPI_Comm_free(&comms[i]);
  MPI_Finalize();
  return 0;
}
