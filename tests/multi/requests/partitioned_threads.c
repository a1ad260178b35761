/* Threads mark the partitions of one message as ready as soon as they have written them, while threads of the
 * receiver wait for the partitions that they need. Ranks work in pairs. */
#include <pthread.h>

#include "../coll/check.h"

enum { threads = 4, per_thread = 8, partitions = threads * per_thread, length = 500, cycles = 10 };

static int data[partitions * length];
static MPI_Request request;
static int cycle;

static int value_at(int at) {
  return cycle * 1000003 + at;
}

static void* produce(void* number) {
  const int thread = (int)(long)number;
  for (int k = 0; k < per_thread; ++k) {
    const int partition = k * threads + thread;
    for (int i = partition * length; i < (partition + 1) * length; ++i) data[i] = value_at(i);
    MPI_Pready(partition, request);
  }
  return NULL;
}

/* The receiver has half as many partitions. */
static void* consume(void* number) {
  const int thread = (int)(long)number;
  for (int k = 0; k < per_thread / 2; ++k) {
    const int partition = k * threads + thread;
    for (int flag = 0; !flag;) MPI_Parrived(request, partition, &flag);
    for (int i = partition * length * 2; i < (partition + 1) * length * 2; ++i)
      CHECK(data[i] == value_at(i), "cycle %d, partition %d: number %d is %d", cycle, partition, i, data[i]);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided = -1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  CHECK(provided == MPI_THREAD_MULTIPLE && size_ % 2 == 0, "threads: %d", provided);
  const int sends = rank_ % 2 == 0, peer = rank_ ^ 1;
  if (sends) {
    MPI_Psend_init(data, partitions, length, MPI_INT, peer, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  } else {
    MPI_Precv_init(data, partitions / 2, length * 2, MPI_INT, peer, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &request);
  }
  for (cycle = 0; cycle < cycles; ++cycle) {
    pthread_t started[threads];
    MPI_Start(&request);
    for (long i = 0; i < threads; ++i) pthread_create(&started[i], NULL, sends ? produce : consume, (void*)i);
    /* MPI_Wait may run concurrently with the threads and must wait for all partitions. */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < threads; ++i) pthread_join(started[i], NULL);
    memset(data, 0, sizeof data);
  }
  MPI_Request_free(&request);
  MPI_Finalize();
  return 0;
}
