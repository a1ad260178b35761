/* The cost of additional idle ranks. idle: half a round trip of 8 bytes between ranks 0 and 1, after every
 * rank has sent to every other one, while all other ranks sleep outside of MPI. This measures the effect of
 * the number of partners, not of the use of processors. memory: the ranks' shared memory after the same
 * exchange, as the kernel counts it (each page divided by the number of processes that map it). */
#define _GNU_SOURCE 1
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../driver/driver.h"
#include "paper.h"

enum { message_bytes = 8 };

static void talk_to_all(int rank, int size, unsigned char* out, unsigned char* in, int bytes) {
  int distance;
  for (distance = 1; distance < size; ++distance) {
    const int to = (rank + distance) % size, from = (rank + size - distance) % size;
    MPI_Sendrecv(out, bytes, MPI_BYTE, to, tag_data, in, bytes, MPI_BYTE, from, tag_data, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
}

/* Binds ranks 0 and 1 to a processor each, if the launcher has not bound them. */
static void bind_to_own(int rank) {
  cpu_set_t all, own;
  int processor, place = 0;
  if (rank > 1 || sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2) return;
  for (processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &all) || place++ != rank) continue;
    CPU_ZERO(&own);
    CPU_SET(processor, &own);
    sched_setaffinity(0, sizeof own, &own);
    return;
  }
}

static void sleep_ns(double ns) {
  struct timespec time;
  time.tv_sec = (time_t)(ns / 1e9);
  time.tv_nsec = (long)(ns - 1e9 * (double)time.tv_sec);
  nanosleep(&time, NULL);
}

void mode_idle(int count, char** words, int rank, int size) {
  static const struct bench_case what = {"latency", pingpong, NULL, 0, "", 0, 0, collective_none};
  const int iterations = 200;
  struct run run = {&what, message_bytes, 1, 1, 0, 0};
  double time_ns;
  int rounds, round;
  if (count != 2) stop("needs two words:", "idle");
  if (size < 2) stop("needs two ranks or more for", "idle");
  time_ns = 1e6 * (double)number_of(words[0], 1, 100000);
  rounds = (int)number_of(words[1], 1, 1000);
  bind_to_own(rank);
  buffers_make(0, buffers_needed(message_bytes, 1), 0, 0);
  run.ranks = size;
  run.fill_and_check_ns = fill_and_check_cost_ns(&run);
  for (round = 0; round < rounds; ++round) {
    talk_to_all(rank, size, send_slot(message_bytes, 0), receive_slot(message_bytes, 0), message_bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank < 2) {
      double values[1024];
      int values_count = 0, more = 1;
      const double deadline = now_ns() + 0.9 * time_ns;
      sleep_ns(0.05 * time_ns); /* until the other ranks sleep */
      while (more) {
        const double ns = pingpong(&run, rank == 0, 1 - rank, iterations);
        values[values_count++] = ns;
        more = now_ns() < deadline && values_count < 1024;
        if (rank == 0) MPI_Send(&more, 1, MPI_INT, 1, tag_command, MPI_COMM_WORLD);
        if (rank == 1) MPI_Recv(&more, 1, MPI_INT, 0, tag_command, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
      if (rank == 0) print_value("idle", size, median_of(values, values_count));
    } else {
      sleep_ns(time_ns);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  print_floor(rank, size);
  buffers_free();
}

/* A line of /proc/self/smaps_rollup, in bytes; -1 if the kernel has none. */
static double rollup(const char* name) {
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  char line[256];
  double kib = -1;
  if (file == NULL) return -1;
  while (fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, name, strlen(name)) == 0) kib = atof(line + strlen(name));
  }
  fclose(file);
  return kib < 0 ? -1 : 1024 * kib;
}

void mode_memory(int count, char** words, int rank, int size) {
  unsigned char *out, *in;
  double mine[2], all[2];
  int bytes;
  if (count != 1) stop("needs one word:", "memory");
  bytes = (int)number_of(words[0], message_bytes, 1 << 24);
  out = calloc(1, (size_t)bytes);
  in = calloc(1, (size_t)bytes);
  if (out == NULL || in == NULL) stop("no memory for", words[0]);
  talk_to_all(rank, size, out, in, message_bytes);
  talk_to_all(rank, size, out, in, bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  mine[0] = rollup("Pss_Shmem:");
  mine[1] = rollup("Pss:");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Reduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0 && all[0] >= 0) {
    print_value("shared", size, all[0]);
    print_value("all", size, all[1]);
  }
  if (rank == 0 && all[0] < 0)
    printf("note this kernel does not tell how much memory of a process is shared\n");
  free(out);
  free(in);
}
