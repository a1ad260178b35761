// Threads that call MPI.
#include <pthread.h>

#include "cases.h"

static int a[4], b[4];
static int rank_, size_;

static void* exchange(void* unused) {
  (void)unused;
  MPI_Sendrecv(a, 1, MPI_INT, (rank_ + 1) % size_, 0, b, 1, MPI_INT, (rank_ + size_ - 1) % size_, 0, W,
               IGNORE);
  return NULL;
}
static void* receive(void* unused) {
  (void)unused;
  MPI_Recv(b, 1, MPI_INT, (rank_ + size_ - 1) % size_, 1, W, IGNORE);
  return NULL;
}

// main() requests the thread level for the case's name.
CASE(other_thread) {
  rank_ = rank, size_ = size;
  pthread_t thread;
  pthread_create(&thread, NULL, exchange, NULL);
  pthread_join(thread, NULL);
}
CASE(both_at_once) {
  rank_ = rank, size_ = size;
  pthread_t thread;
  pthread_create(&thread, NULL, receive, NULL);
  // The other thread is in its receive until a message is sent.
  const double end = MPI_Wtime() + 0.3;
  while (MPI_Wtime() < end) {
  }
  MPI_Barrier(W);
  MPI_Send(a, 1, MPI_INT, (rank + 1) % size, 1, W);
  pthread_join(thread, NULL);
}
CASE(ok_other_thread) {
  other_thread(rank, size);
}
CASE(ok_both_at_once) {
  both_at_once(rank, size);
}

int main(int argc, char** argv) {
  static const struct Case cases[] = {ROW(other_thread), ROW(both_at_once), ROW(ok_other_thread),
                                      ROW(ok_both_at_once)};
  const char* name = argc == 2 ? argv[1] : "";
  int level = MPI_THREAD_MULTIPLE;
  if (strcmp(name, "other_thread") == 0) level = MPI_THREAD_FUNNELED;
  if (strcmp(name, "both_at_once") == 0 || strcmp(name, "ok_other_thread") == 0)
    level = MPI_THREAD_SERIALIZED;
  return run_cases(argc, argv, level, cases, sizeof cases / sizeof cases[0]);
}
