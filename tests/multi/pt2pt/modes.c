/* The four send modes, and the three kinds of buffer for buffered sends. Two ranks. */
#include <time.h>

#include "../coll/check.h"

static void sleep_ms(long ms) {
  const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&pause, NULL);
}

static void receive_numbers(int count, int length) {
  int* data = malloc((size_t)length * sizeof(int));
  for (int i = 0; i < count; ++i) {
    MPI_Recv(data, length, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int at = 0; at < length; ++at)
      CHECK(data[at] == i * 1000003 + at, "message %d, number %d is %d", i, at, data[at]);
  }
  free(data);
}

static void make_numbers(int* data, int i, int length) {
  for (int at = 0; at < length; ++at) data[at] = i * 1000003 + at;
}

static void synchronous_waits(int length) {
  int* data = malloc((size_t)length * sizeof(int));
  MPI_Request request;
  int done = 0;
  make_numbers(data, 0, length);
  /* Before the barrier, because this rank may leave it later than the other one. */
  const double start = MPI_Wtime();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_ == 0) {
    MPI_Ssend(data, length, MPI_INT, 1, 1, MPI_COMM_WORLD);
    CHECK(MPI_Wtime() - start > 0.1, "MPI_Ssend of %d numbers returned before its receive", length);
    make_numbers(data, 0, length);
    MPI_Issend(data, length, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 50; ++i) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      CHECK(!done, "MPI_Issend was done before its receive");
      sleep_ms(1);
    }
    MPI_Send(NULL, 0, MPI_INT, 1, 2, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    sleep_ms(150);
    receive_numbers(1, length);
    MPI_Recv(NULL, 0, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    receive_numbers(1, length);
  }
  free(data);
}

static void ready(void) {
  int data[3000];
  MPI_Request request;
  if (rank_ == 0) {
    MPI_Recv(NULL, 0, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    make_numbers(data, 4, 3000);
    MPI_Rsend(data, 3000, MPI_INT, 1, 4, MPI_COMM_WORLD);
    MPI_Recv(NULL, 0, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irsend(data, 3000, MPI_INT, 1, 4, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    for (int i = 0; i < 2; ++i) {
      memset(data, 0, sizeof data);
      MPI_Irecv(data, 3000, MPI_INT, 0, 4, MPI_COMM_WORLD, &request);
      MPI_Send(NULL, 0, MPI_INT, 0, 3, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      for (int at = 0; at < 3000; ++at) CHECK(data[at] == 4 * 1000003 + at, "number %d is %d", at, data[at]);
    }
  }
}

enum { buffered_count = 20, buffered_length = 5000 };

/* All messages are sent, and the data overwritten, before the receiver posts its first receive. */
static void send_buffered(MPI_Comm comm) {
  static int data[buffered_length];
  MPI_Request request;
  for (int i = 0; i < buffered_count; ++i) {
    make_numbers(data, i, buffered_length);
    if (i % 2 == 0) {
      MPI_Bsend(data, buffered_length, MPI_INT, 1, 1, comm);
    } else {
      MPI_Ibsend(data, buffered_length, MPI_INT, 1, 1, comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
  memset(data, 0xff, sizeof data);
  MPI_Send(NULL, 0, MPI_INT, 1, 2, MPI_COMM_WORLD);
}

static void receive_buffered(MPI_Comm comm) {
  static int data[buffered_length];
  MPI_Recv(NULL, 0, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < buffered_count; ++i) {
    MPI_Recv(data, buffered_length, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
    for (int at = 0; at < buffered_length; ++at)
      CHECK(data[at] == i * 1000003 + at, "buffered message %d, number %d is %d", i, at, data[at]);
  }
}

static void expect_buffer_error(int code) {
  int error_class = -1;
  MPI_Error_class(code, &error_class);
  CHECK(error_class == MPI_ERR_BUFFER, "a buffer too small gave class %d", error_class);
}

static void attached(void) {
  const int bytes = buffered_count * (buffered_length * (int)sizeof(int) + MPI_BSEND_OVERHEAD);
  void *buffer = malloc((size_t)bytes), *detached = NULL;
  int detached_bytes = 0;
  if (rank_ == 0) {
    for (int round = 0; round < 3; ++round) {
      MPI_Buffer_attach(buffer, bytes);
      send_buffered(MPI_COMM_WORLD);
#if MPI_VERSION * 10 + MPI_SUBVERSION >= 41
      if (round == 1) MPI_Buffer_flush();
      if (round == 2) {
        MPI_Request request;
        MPI_Buffer_iflush(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      }
#else
      if (round > 0) {
        MPI_Buffer_detach(&detached, &detached_bytes);
        MPI_Buffer_attach(buffer, bytes);
      }
#endif
      if (round > 0) send_buffered(MPI_COMM_WORLD); /* the whole buffer is free again */
      MPI_Buffer_detach(&detached, &detached_bytes);
      CHECK(detached == buffer && detached_bytes == bytes, "detached %p of %d bytes, not %p of %d", detached,
            detached_bytes, buffer, bytes);
      memset(buffer, 0xee, (size_t)bytes); /* after the detach all messages are sent */
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    expect_buffer_error(MPI_Bsend(buffer, 1, MPI_INT, 1, 9, MPI_COMM_WORLD));
    MPI_Buffer_attach(buffer, 1000 + MPI_BSEND_OVERHEAD);
    expect_buffer_error(MPI_Bsend(buffer, bytes / 2, MPI_BYTE, 1, 9, MPI_COMM_WORLD));
    MPI_Buffer_detach(&detached, &detached_bytes);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  } else {
    for (int i = 0; i < 5; ++i) receive_buffered(MPI_COMM_WORLD);
  }
  free(buffer);
}

#if MPI_VERSION * 10 + MPI_SUBVERSION >= 41
static void automatic(void) {
  void* detached = NULL;
  int bytes = -1;
  if (rank_ == 0) {
    MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
    send_buffered(MPI_COMM_WORLD);
    MPI_Buffer_flush();
    send_buffered(MPI_COMM_WORLD);
    MPI_Buffer_detach(&detached, &bytes);
    CHECK(detached == MPI_BUFFER_AUTOMATIC && bytes == 0, "detached %p of %d bytes", detached, bytes);
  } else {
    receive_buffered(MPI_COMM_WORLD);
    receive_buffered(MPI_COMM_WORLD);
  }
}

static void communicators_buffer(void) {
  const int bytes = buffered_count * (buffered_length * (int)sizeof(int) + MPI_BSEND_OVERHEAD);
  void *buffer = malloc((size_t)bytes), *detached = NULL;
  int detached_bytes = 0;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (rank_ == 0) {
    MPI_Request request;
    MPI_Comm_attach_buffer(comm, buffer, bytes);
    send_buffered(comm);
    MPI_Comm_flush_buffer(comm);
    send_buffered(comm);
    MPI_Comm_iflush_buffer(comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_detach_buffer(comm, &detached, &detached_bytes);
    CHECK(detached == buffer && detached_bytes == bytes, "detached %p of %d bytes", detached, detached_bytes);
  } else {
    receive_buffered(comm);
    receive_buffered(comm);
  }
  MPI_Comm_free(&comm);
  free(buffer);
}
#endif

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  CHECK(size_ == 2, "wants 2 ranks");
  synchronous_waits(0);
  synchronous_waits(10);
  synchronous_waits(5000);
  synchronous_waits(300000);
  ready();
  attached();
#if MPI_VERSION * 10 + MPI_SUBVERSION >= 41
  automatic();
  communicators_buffer();
#endif
  MPI_Finalize();
  return 0;
}
