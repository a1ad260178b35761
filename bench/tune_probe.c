/* The probe of `hearth tune`: two ranks that compare two settings of the library, repeatedly and alternating
 * in the same job. MPI calls only; settings are control variables of the tool interface.
 *
 * Rank 0 reads commands from standard input, one per line, and answers on standard output:
 *
 *   compare BYTES malloc|mpi TIME_US ROUNDS | name=value ... | name=value ...
 *     round A B B A     for each round: nanoseconds per message of its four blocks
 *     end FLOOR         nanoseconds of one cache line from rank to rank afterwards, 0 if unknown
 *
 * One block is a ping-pong in which every message is written before it is sent and read after it has arrived.
 * Both are part of the time, because protocols leave the data in different caches: writing to a buffer that
 * another processor has read takes longer. The end of input ends the job. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"
#include "settings.h"

enum { line_max = 2048, rounds_max = 1000, iterations_max = 2000 };
static const double block_ns = 2e5;

struct command {
  unsigned long bytes, time_us, rounds;
  int from_mpi;
  char* settings[2];
};

static void stop(const char* what, const char* word) {
  fprintf(stderr, "tune_probe: %s '%s'\n", what, word);
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

static int parse(char* line, struct command* command) {
  char alloc[8], more;
  int length = 0;
  if (sscanf(line, "compare %lu %7s %lu %lu %n", &command->bytes, alloc, &command->time_us, &command->rounds,
             &length) != 4 ||
      line[length] != '|') {
    return 0;
  }
  command->from_mpi = strcmp(alloc, "mpi") == 0;
  command->settings[0] = line + length + 1;
  command->settings[1] = strchr(command->settings[0], '|');
  if (command->settings[1] == NULL) return 0;
  *command->settings[1]++ = '\0';
  return command->bytes > 0 && command->rounds > 0 && command->rounds <= rounds_max &&
         sscanf(command->settings[1], " %c", &more) == 1;
}

/* Rank 0's time per message. */
static double block(const struct command* command, int which, int iterations, int rank) {
  unsigned char* out = send_slot(command->bytes, 0);
  unsigned char* in = receive_slot(command->bytes, 0);
  double begin = 0;
  int i;
  settings_apply(command->settings[which]);
  MPI_Barrier(MPI_COMM_WORLD);
  /* Round 0 removes the effects of the other setting and is not timed. */
  for (i = 0; i <= iterations; ++i) {
    const uint64_t seed = 2 * (uint64_t)i;
    if (i == 1) begin = now_ns();
    if (rank == 0) {
      fill(out, command->bytes, seed);
      MPI_Send(out, (int)command->bytes, MPI_BYTE, 1, tag_data, MPI_COMM_WORLD);
      MPI_Recv(in, (int)command->bytes, MPI_BYTE, 1, tag_data, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      check(in, command->bytes, seed + 1);
    } else {
      MPI_Recv(in, (int)command->bytes, MPI_BYTE, 0, tag_data, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      check(in, command->bytes, seed);
      fill(out, command->bytes, seed + 1);
      MPI_Send(out, (int)command->bytes, MPI_BYTE, 0, tag_data, MPI_COMM_WORLD);
    }
  }
  return (now_ns() - begin) / (2.0 * iterations);
}

/* The number of round trips in a block. */
static int calibrate(const struct command* command, int rank) {
  int iterations = 1;
  const double a = block(command, 0, 1, rank), b = block(command, 1, 1, rank);
  if (rank == 0) {
    const double wanted = block_ns / (2 * (a > b ? a : b));
    iterations = wanted < 1 ? 1 : wanted > iterations_max ? iterations_max : (int)wanted;
  }
  MPI_Bcast(&iterations, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return iterations;
}

static void compare(const struct command* command, int rank) {
  enum { rounds_min = 6 };
  const int iterations = calibrate(command, rank);
  const double deadline = now_ns() + 1e3 * (double)command->time_us;
  unsigned long round;
  int more = 1;
  for (round = 0; more; ++round) {
    double ns[4];
    int i;
    for (i = 0; i < 4; ++i) ns[i] = block(command, i == 1 || i == 2, iterations, rank);
    if (rank == 0) {
      printf("round %.1f %.1f %.1f %.1f\n", ns[0], ns[1], ns[2], ns[3]);
      more = round + 1 < command->rounds && (round + 1 < rounds_min || now_ns() < deadline);
    }
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
}

int main(int count, char** words) {
  static char line[line_max];
  int rank, size, provided;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2) stop("needs two ranks, as `hearth tune` starts", words[0]);
  floor_make(rank == 0, 1 - rank);
  for (;;) {
    struct command command;
    if (rank == 0 && fgets(line, sizeof line, stdin) == NULL) line[0] = '\0';
    MPI_Bcast(line, line_max, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (line[0] == '\0') break;
    if (!parse(line, &command)) stop("no command:", line);
    buffers_make(command.from_mpi, buffers_needed(command.bytes, 1), 0, 0);
    compare(&command, rank);
    buffers_free();
    const double floor_ns = floor_one_way_ns(rank == 0);
    if (rank == 0) {
      printf("end %.1f\n", floor_ns);
      fflush(stdout);
    }
  }
  MPI_Finalize();
  MPI_T_finalize();
  return 0;
}
