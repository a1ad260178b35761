/* Programs for test_profiled.py: messages of known number and length, and ranks that are deliberately late.
 * The first argument selects one: "counts", "late_sender", "late_receiver", "collectives", "unexpected",
 * "many", "posted", "killed", "files". */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kLate_us = 60000 };

static char buffer[1 << 20];

/* Rank 0 writes 3 MiB, the last one without blocking; rank 1 reads 2 MiB. */
static void files(int rank) {
  MPI_File file;
  MPI_Request request;
  MPI_File_open(MPI_COMM_WORLD, "data", MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
  for (int i = 0; rank == 0 && i < 2; ++i)
    MPI_File_write(file, buffer, sizeof buffer, MPI_BYTE, MPI_STATUS_IGNORE);
  if (rank == 0) {
    MPI_File_iwrite(file, buffer, sizeof buffer, MPI_BYTE, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; rank == 1 && i < 2; ++i)
    MPI_File_read(file, buffer, sizeof buffer, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

static void counts(int rank, int size) {
  /* Each rank sends to the next one, rank 0 twice as often. */
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  const int mine = rank == 0 ? 200 : 100, theirs = previous == 0 ? 200 : 100;
  if (rank == 0) {
    for (int i = 0; i < mine; ++i) MPI_Send(buffer, 8, MPI_BYTE, next, 1, MPI_COMM_WORLD);
    for (int i = 0; i < theirs; ++i) {
      MPI_Recv(buffer, 8, MPI_BYTE, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  } else {
    for (int i = 0; i < theirs; ++i) {
      MPI_Recv(buffer, 8, MPI_BYTE, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < mine; ++i) MPI_Send(buffer, 8, MPI_BYTE, next, 1, MPI_COMM_WORLD);
  }
  /* From rank 0 to rank 1: 5 messages of several ring slots, 3 long ones. */
  if (rank == 0) {
    for (int i = 0; i < 5; ++i) MPI_Send(buffer, 125, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD);
    for (int i = 0; i < 3; ++i) MPI_Send(buffer, sizeof buffer, MPI_BYTE, 1, 3, MPI_COMM_WORLD);
  } else if (rank == 1) {
    for (int i = 0; i < 5; ++i) MPI_Recv(buffer, 125, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 3; ++i) {
      MPI_Recv(buffer, sizeof buffer, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
}

/* Returns when both ranks have started, without a wait in a blocking call. */
static void meet(int rank) {
  const int other = 1 - rank;
  int there = 0;
  if (rank > 1) return;
  MPI_Send(buffer, 0, MPI_BYTE, other, 2, MPI_COMM_WORLD);
  while (!there) MPI_Iprobe(other, 2, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
  MPI_Recv(buffer, 0, MPI_BYTE, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void late_sender(int rank) {
  meet(rank);
  if (rank == 0) {
    usleep(kLate_us);
    MPI_Send(buffer, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Recv(buffer, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void late_receiver(int rank) {
  meet(rank);
  if (rank == 0) {
    MPI_Ssend(buffer, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
  } else if (rank == 1) {
    usleep(kLate_us);
    MPI_Recv(buffer, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void collectives(int rank, int size) {
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Comm_set_name(half, "half");
  for (int i = 0; i < 10; ++i) {
    if (rank == size - 1) usleep(kLate_us / 3);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  long sum = 0;
  for (int i = 0; i < 7; ++i) MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_LONG, MPI_SUM, half);
  MPI_Comm_free(&half);
}

static void unexpected(int rank) {
  if (rank == 0) {
    for (int i = 0; i < 20; ++i) MPI_Send(buffer, 100, MPI_BYTE, 1, i, MPI_COMM_WORLD);
  } else if (rank == 1) {
    for (int i = 19; i >= 0; --i) MPI_Recv(buffer, 100, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

/* Messages of alternating lengths. */
static void many(int rank) {
  for (int i = 0; i < 400000; ++i) {
    const int bytes = i % 2 == 0 ? 8 : 40;
    if (rank == 0) MPI_Send(buffer, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(buffer, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

/* Windows of nonblocking messages. One message in eight has 200 bytes, the others 8. Every other window is
 * completed request by request. */
static void posted(int rank) {
  enum { kWindow = 64, kWindows = 4000 };
  MPI_Request requests[kWindow];
  for (int window = 0; rank < 2 && window < kWindows; ++window) {
    for (int i = 0; i < kWindow; ++i) {
      const int bytes = i % 8 == 0 ? 200 : 8;
      if (rank == 0) MPI_Isend(buffer, bytes, MPI_BYTE, 1, 7, MPI_COMM_WORLD, &requests[i]);
      if (rank == 1) MPI_Irecv(buffer + 256 * i, bytes, MPI_BYTE, 0, 7, MPI_COMM_WORLD, &requests[i]);
    }
    if (window % 2 == 0) {
      MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
    } else {
      for (int i = 0; i < kWindow; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
  }
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* what = argc > 1 ? argv[1] : "counts";
  memset(buffer, rank, sizeof buffer);
  if (strcmp(what, "counts") == 0) counts(rank, size);
  if (strcmp(what, "files") == 0) files(rank);
  if (strcmp(what, "late_sender") == 0) late_sender(rank);
  if (strcmp(what, "late_receiver") == 0) late_receiver(rank);
  if (strcmp(what, "collectives") == 0) collectives(rank, size);
  if (strcmp(what, "unexpected") == 0) unexpected(rank);
  if (strcmp(what, "many") == 0) many(rank);
  if (strcmp(what, "posted") == 0) posted(rank);
  if (strcmp(what, "killed") == 0) {
    counts(rank, size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) kill(getpid(), SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
