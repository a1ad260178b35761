/* Ranks that wait for each other in the way that the first argument selects (test_why.py). */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LONG_BYTES = 1 << 22 };

static int rank, size;
static char buffer[LONG_BYTES], other_buffer[LONG_BYTES];

static int is(const char* word, const char* other) {
  return strcmp(word, other) == 0;
}

static void receive(int from, int tag, MPI_Comm comm) {
  int value = 0;
  MPI_Recv(&value, 1, MPI_INT, from, tag, comm, MPI_STATUS_IGNORE);
}

static void send(int to, int tag, MPI_Comm comm) {
  MPI_Send(&rank, 1, MPI_INT, to, tag, comm);
}

static void head_to_head(void) {
  const int other = rank ^ 1;
  MPI_Send(buffer, LONG_BYTES, MPI_BYTE, other, 3, MPI_COMM_WORLD);
  MPI_Recv(other_buffer, LONG_BYTES, MPI_BYTE, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Rank 1 waits for a message that differs in tag or communicator from the one that rank 0 has sent. */
static void near_miss(int wrong_tag, int wrong_comm) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_name(comm, "the duplicate");
  if (rank == 0) {
    send(1, wrong_tag ? 8 : 7, wrong_comm ? comm : MPI_COMM_WORLD);
    receive(1, 9, MPI_COMM_WORLD);
  } else if (rank == 1) {
    receive(0, 7, MPI_COMM_WORLD);
    send(0, 9, MPI_COMM_WORLD);
  }
}

static void one_is_missing(void) {
  if (rank == size - 1) receive(0, 5, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) send(size - 1, 5, MPI_COMM_WORLD);
}

static void different_collectives(void) {
  if (rank == 0) MPI_Bcast(buffer, LONG_BYTES, MPI_BYTE, size - 1, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) MPI_Bcast(buffer, LONG_BYTES, MPI_BYTE, size - 1, MPI_COMM_WORLD);
}

/* Each rank is the root of its own gather. */
static void different_roots(int count, int nonblocking) {
  MPI_Request request;
  if (nonblocking) {
    MPI_Igather(buffer, count, MPI_BYTE, other_buffer, count, MPI_BYTE, rank, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Gather(buffer, count, MPI_BYTE, other_buffer, count, MPI_BYTE, rank, MPI_COMM_WORLD);
  }
}

static void any_source(void) {
  if (rank == 0) receive(MPI_ANY_SOURCE, 4, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) send(0, 4, MPI_COMM_WORLD);
}

static void* thread_receives(void* tag) {
  receive(rank ^ 1, *(int*)tag, MPI_COMM_WORLD);
  send(rank ^ 1, *(int*)tag, MPI_COMM_WORLD);
  return NULL;
}

static void threads(void) {
  int tags[2] = {1, 2};
  pthread_t other;
  pthread_create(&other, NULL, thread_receives, &tags[0]);
  thread_receives(&tags[1]);
  pthread_join(other, NULL);
}

static void* answered(void* unused) {
  (void)unused;
  receive(1, 2, MPI_COMM_WORLD);
  return NULL;
}

/* A thread of rank 0 waits for an answer, which arrives only after another thread has slept and sent. */
static void thread_sleeps(double for_seconds) {
  pthread_t other;
  if (rank == 0) {
    pthread_create(&other, NULL, answered, NULL);
    usleep((useconds_t)(1e6 * for_seconds));
    send(1, 1, MPI_COMM_WORLD);
    pthread_join(other, NULL);
  } else if (rank == 1) {
    receive(0, 1, MPI_COMM_WORLD);
    send(0, 2, MPI_COMM_WORLD);
  }
}

static void several(void) {
  MPI_Request requests[3];
  int values[3];
  int i;
  for (i = 0; i < 3; ++i)
    MPI_Irecv(&values[i], 1, MPI_INT, (rank + 1) % size, i, MPI_COMM_WORLD, &requests[i]);
  if (rank == 0) {
    MPI_Waitany(3, requests, &i, MPI_STATUS_IGNORE);
  } else {
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  }
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Rank 1 computes for a while; all others wait for it. This is no deadlock. */
static void one_computes(double for_seconds) {
  if (rank == 1) {
    const double end = seconds() + for_seconds;
    volatile double value = 1;
    while (seconds() < end) value = value * 1.000001;
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 1 does not take part in the collective that the others have started. */
static void nonblocking(void) {
  MPI_Request request;
  if (rank == 1) receive(0, 5, MPI_COMM_WORLD);
  MPI_Iallreduce(MPI_IN_PLACE, buffer, LONG_BYTES / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Rank 0 sends to rank 1 for a while: messages for the ring, and longer ones with nine times their bytes in
 * total. */
static void traffic(double for_seconds) {
  const double end = seconds() + for_seconds;
  int i, goes_on = 1;
  while (goes_on) {
    goes_on = seconds() < end;
    if (rank == 0) {
      for (i = 0; i < 8; ++i) MPI_Send(buffer, 1000, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
      MPI_Send(buffer, 72000, MPI_BYTE, 1, goes_on, MPI_COMM_WORLD);
      usleep(500);
    } else if (rank == 1) {
      MPI_Status status;
      for (i = 0; i < 8; ++i) MPI_Recv(buffer, 1000, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Recv(buffer, 72000, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      goes_on = status.MPI_TAG;
    } else {
      goes_on = 0;
    }
  }
}

/* Rank 0 opens a pipe, which waits for a writer. */
static void open_pipe(const char* name) {
  MPI_File file;
  if (rank == 0) {
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &file);
    MPI_File_close(&file);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 0 writes to a file, and rank 1 reads from it, until the job is ended. */
static void files(const char* name) {
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
  for (;;) {
    if (rank == 0) MPI_File_write_at(file, 0, buffer, LONG_BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_File_read_at(file, 0, buffer, LONG_BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    usleep(5000);
  }
}

static MPI_Win open_window(MPI_Comm comm) {
  MPI_Win window;
  int* base;
  MPI_Win_allocate(64, 4, MPI_INFO_NULL, comm, &base, &window);
  MPI_Win_set_name(window, "the table");
  return window;
}

static void lock(MPI_Win window, int type, int target) {
  MPI_Win_lock(type, target, 0, window);
}

/* Rank 0 holds a lock on the memory of rank 1 for a while; all others wait for it. This is no deadlock. */
static void slow_lock(int type, double for_seconds) {
  MPI_Win window = open_window(MPI_COMM_WORLD);
  if (rank == 0) lock(window, type, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    usleep((useconds_t)(1e6 * for_seconds));
  } else {
    lock(window, MPI_LOCK_EXCLUSIVE, 1);
  }
  MPI_Win_unlock(1, window);
  MPI_Win_free(&window);
}

/* Ranks 0 and 1 each hold the lock that the other one requests, on the memory of ranks 2 and 3. */
static void crossed_locks(int type) {
  MPI_Win window = open_window(MPI_COMM_WORLD);
  if (rank < 2) lock(window, type, 2 + rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank < 2) {
    lock(window, MPI_LOCK_EXCLUSIVE, 3 - rank);
    MPI_Win_unlock(3 - rank, window);
    MPI_Win_unlock(2 + rank, window);
  }
  MPI_Win_free(&window);
}

/* `posts` is 0: rank 0 starts an access epoch at rank 1, which waits for a message instead of opening an
 * exposure epoch. `posts` is 1: rank 1 opens one, and rank 0 never completes. */
static void missing_epoch(int posts) {
  MPI_Win window = open_window(MPI_COMM_WORLD);
  MPI_Group world, other;
  const int peer = rank ^ 1;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &peer, &other);
  if (rank == 1 && posts) MPI_Win_post(other, 0, window);
  if (rank == 0) MPI_Win_start(other, 0, window);
  if (rank == 0 && posts) receive(1, 5, MPI_COMM_WORLD);
  if (rank == 1 && posts) MPI_Win_wait(window);
  if (rank == 1) receive(0, 6, MPI_COMM_WORLD);
}

/* Rank 0 polls for a message that no rank sends; after that time it sends to rank 1. */
static void poll_for(double for_seconds) {
  const double end = seconds() + for_seconds;
  int flag;
  while (rank == 0 && seconds() < end) MPI_Iprobe(1, 6, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  if (rank == 0) send(1, 7, MPI_COMM_WORLD);
  if (rank == 1) receive(0, 7, MPI_COMM_WORLD);
}

static void poll(void) {
  int flag = 0;
  while (!flag) MPI_Iprobe(rank ^ 1, 6, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  int level;
  MPI_Init_thread(&argc, &argv,
                  is(what, "threads") || is(what, "thread-sleeps") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                  &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (is(what, "head-to-head")) {
    head_to_head();
  } else if (is(what, "tag")) {
    near_miss(1, 0);
  } else if (is(what, "communicator")) {
    near_miss(0, 1);
  } else if (is(what, "missing")) {
    one_is_missing();
  } else if (is(what, "different")) {
    different_collectives();
  } else if (is(what, "roots")) {
    different_roots(atoi(argv[2]), 0);
  } else if (is(what, "nonblocking-roots")) {
    different_roots(atoi(argv[2]), 1);
  } else if (is(what, "any-source")) {
    any_source();
  } else if (is(what, "threads")) {
    threads();
  } else if (is(what, "thread-sleeps")) {
    thread_sleeps(atof(argv[2]));
  } else if (is(what, "poll-for")) {
    poll_for(atof(argv[2]));
  } else if (is(what, "several")) {
    several();
  } else if (is(what, "chain")) {
    receive((rank + 1) % size, 2, MPI_COMM_WORLD);
  } else if (is(what, "compute")) {
    one_computes(atof(argv[2]));
  } else if (is(what, "traffic")) {
    traffic(atof(argv[2]));
  } else if (is(what, "pipe")) {
    open_pipe(argv[2]);
  } else if (is(what, "files")) {
    files(argv[2]);
  } else if (is(what, "nonblocking")) {
    nonblocking();
  } else if (is(what, "sleep")) {
    if (rank == 1) usleep((useconds_t)(1e6 * atof(argv[2])));
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (is(what, "stop")) {
    if (rank == 1) raise(SIGSTOP);
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (is(what, "slow-lock")) {
    slow_lock(MPI_LOCK_EXCLUSIVE, atof(argv[2]));
  } else if (is(what, "slow-shared-lock")) {
    slow_lock(MPI_LOCK_SHARED, atof(argv[2]));
  } else if (is(what, "crossed-locks")) {
    crossed_locks(MPI_LOCK_EXCLUSIVE);
  } else if (is(what, "crossed-shared-locks")) {
    crossed_locks(MPI_LOCK_SHARED);
  } else if (is(what, "no-post")) {
    missing_epoch(0);
  } else if (is(what, "no-complete")) {
    missing_epoch(1);
  } else if (is(what, "poll")) {
    poll();
  } else if (is(what, "gone")) {
    if (rank == 0) receive(1, 1, MPI_COMM_WORLD);
  } else if (is(what, "relay")) { /* rank 1 ends at once; rank 0 receives late, from rank 2 */
    if (rank == 0) receive(2, 1, MPI_COMM_WORLD);
    if (rank == 2) {
      usleep((useconds_t)(1e6 * atof(argv[2])));
      send(0, 1, MPI_COMM_WORLD);
    }
  } else {
    fprintf(stderr, "unknown: %s\n", what);
    return 2;
  }
  MPI_Finalize();
  return 0;
}
