/* The probe of `hearth tune` for limits of collectives: ranks that compare two algorithms of an allreduce,
 * repeatedly and alternating in the same job. MPI calls only; the info of a communicator selects the
 * algorithm.
 *
 * Rank 0 reads commands from standard input, one per line, and answers on standard output:
 *
 *   compare BYTES RANKS TIME_US ROUNDS | ALGORITHM | ALGORITHM
 *     round A B B A     for each round: nanoseconds per allreduce of its four blocks, of the slowest rank
 *     end 0             no floor is measured
 *
 * The first RANKS ranks sum doubles; the other ranks wait for the next command. Every rank writes its buffer
 * before each allreduce and reads the sums afterwards. Both are part of the time, because algorithms differ
 * in which rank reads which buffer: writing to a buffer that another processor has read takes longer. The end
 * of input ends the job. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"

enum { command_line_max = 256, name_max = 64, rounds_max = 1000, iterations_max = 2000 };
static const double block_ns = 2e5;

struct command {
  unsigned long bytes, time_us, rounds;
  int ranks;
  char algorithms[2][name_max];
};

/* One of the two algorithms: a communicator that uses it. */
struct way {
  MPI_Comm comm;
  int rank, size;
};

static void stop(const char* what, const char* word) {
  fprintf(stderr, "tune_collective_probe: %s '%s'\n", what, word);
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

static int parse(const char* line, int size, struct command* command) {
  return sscanf(line, "compare %lu %d %lu %lu | %63[a-z_] | %63[a-z_]", &command->bytes, &command->ranks,
                &command->time_us, &command->rounds, command->algorithms[0], command->algorithms[1]) == 6 &&
         command->bytes >= sizeof(double) && command->ranks >= 2 && command->ranks <= size &&
         command->rounds > 0 && command->rounds <= rounds_max;
}

static struct way make_way(MPI_Comm comm, const char* algorithm) {
  struct way way;
  char hint[name_max + 16];
  MPI_Info info;
  snprintf(hint, sizeof hint, "allreduce=%s", algorithm);
  MPI_Info_create(&info);
  MPI_Info_set(info, "hearth_coll_algorithms", hint);
  MPI_Comm_dup_with_info(comm, info, &way.comm);
  MPI_Info_free(&info);
  MPI_Comm_rank(way.comm, &way.rank);
  MPI_Comm_size(way.comm, &way.size);
  return way;
}

/* One allreduce of numbers whose sums are exact. Uses plain stores and plain loads, so that most of the time
 * is the library's. */
static void sum_up(const struct way* way, double* in, double* out, int count, int time) {
  const double own = time + way->rank;
  const double sum = way->size * (double)time + way->size * (way->size - 1) / 2.0;
  int i, wrong = 0;
  for (i = 0; i < count; ++i) in[i] = own;
  MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, way->comm);
  for (i = 0; i < count; ++i) wrong |= out[i] != sum;
  if (wrong) stop("a wrong sum on", "a rank");
}

/* The slowest rank's time per allreduce; equal on all ranks. */
static double block(const struct way* way, unsigned long bytes, int iterations) {
  const int count = (int)(bytes / sizeof(double));
  double* in = (double*)(void*)send_slot(bytes, 0);
  double* out = (double*)(void*)receive_slot(bytes, 0);
  double begin, own, slowest;
  int i;
  /* The first allreduce removes the effects of the other algorithm and is not timed. */
  sum_up(way, in, out, count, 0);
  MPI_Barrier(way->comm);
  begin = now_ns();
  for (i = 1; i <= iterations; ++i) sum_up(way, in, out, count, i);
  own = (now_ns() - begin) / iterations;
  MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, way->comm);
  return slowest;
}

/* The number of allreduces in a block. */
static int calibrate(const struct way* ways, unsigned long bytes) {
  const double a = block(&ways[0], bytes, 1), b = block(&ways[1], bytes, 1);
  const double wanted = block_ns / (a > b ? a : b);
  return wanted < 1 ? 1 : wanted > iterations_max ? iterations_max : (int)wanted;
}

static void compare(const struct command* command, const struct way* ways) {
  enum { rounds_min = 6 };
  const int iterations = calibrate(ways, command->bytes);
  const double deadline = now_ns() + 1e3 * (double)command->time_us;
  unsigned long round;
  int more = 1;
  for (round = 0; more; ++round) {
    double ns[4];
    int i;
    for (i = 0; i < 4; ++i) ns[i] = block(&ways[i == 1 || i == 2], command->bytes, iterations);
    if (ways[0].rank == 0) {
      printf("round %.1f %.1f %.1f %.1f\n", ns[0], ns[1], ns[2], ns[3]);
      more = round + 1 < command->rounds && (round + 1 < rounds_min || now_ns() < deadline);
    }
    MPI_Bcast(&more, 1, MPI_INT, 0, ways[0].comm);
  }
}

static void answer(const struct command* command, int rank) {
  struct way ways[2];
  MPI_Comm some;
  int i;
  MPI_Comm_split(MPI_COMM_WORLD, rank < command->ranks ? 0 : MPI_UNDEFINED, rank, &some);
  if (some == MPI_COMM_NULL) return;
  for (i = 0; i < 2; ++i) ways[i] = make_way(some, command->algorithms[i]);
  buffers_make(0, buffers_needed(command->bytes, 1), 0, 0);
  compare(command, ways);
  buffers_free();
  for (i = 0; i < 2; ++i) MPI_Comm_free(&ways[i].comm);
  MPI_Comm_free(&some);
}

int main(int count, char** words) {
  static char line[command_line_max];
  int rank, size;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (;;) {
    struct command command;
    if (rank == 0 && fgets(line, sizeof line, stdin) == NULL) line[0] = '\0';
    MPI_Bcast(line, command_line_max, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (line[0] == '\0') break;
    if (!parse(line, size, &command)) stop("no command:", line);
    answer(&command, rank);
    if (rank == 0) {
      printf("end 0\n");
      fflush(stdout);
    }
  }
  MPI_Finalize();
  return 0;
}
