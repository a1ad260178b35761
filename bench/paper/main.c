/* Selects the mode; arguments and output lines that all modes share. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../driver/driver.h"
#include "paper.h"

static const struct {
  const char* name;
  mode run;
  const char* words;
} modes[] = {
    {"ways", mode_ways, "latency|stream|alltoall LENGTHS malloc|mpi ROUNDS BLOCK_US NODE NAME:SETTINGS..."},
    {"pairs", mode_pairs, "LENGTHS malloc|mpi ROUNDS REGION_BYTES counters|none NAME:SETTINGS..."},
    {"counted", mode_counted, "BYTES malloc|mpi WINDOWS NAME:SETTINGS"},
    {"ring", mode_ring, "BYTES TILE_BYTES STEPS ROUNDS"},
    {"contention", mode_contention, "NAME BYTES STEPS ROUNDS"},
    {"idle", mode_idle, "TIME_MS ROUNDS"},
    {"memory", mode_memory, "BYTES"},
    {"application", mode_application, "CELLS STEPS"},
};
enum { mode_count = sizeof modes / sizeof modes[0] };

void stop(const char* what, const char* word) {
  fprintf(stderr, "paper_probe: %s '%s'\n", what, word);
  MPI_Abort(MPI_COMM_WORLD, 2);
  exit(2);
}

unsigned long number_of(const char* word, unsigned long least, unsigned long most) {
  char* end;
  const unsigned long value = strtoul(word, &end, 10);
  if (end == word || *end != '\0' || *word == '-' || value < least || value > most)
    stop("not a number that fits:", word);
  return value;
}

void lengths_of(char* word, struct lengths* lengths) {
  char* part;
  lengths->count = 0;
  for (part = strtok(word, ","); part != NULL; part = strtok(NULL, ",")) {
    if (lengths->count == lengths_max) stop("too many lengths, at", part);
    lengths->bytes[lengths->count++] = number_of(part, 1, 1ul << 28);
  }
  if (lengths->count == 0) stop("no length in", word);
}

void ways_of(int count, char** words, struct ways* ways) {
  int i;
  if (count < 1 || count > ways_max) stop("no ways to measure, or too many of them", "");
  ways->count = count;
  for (i = 0; i < count; ++i) {
    char* colon = strchr(words[i], ':');
    if (colon == NULL) stop("not NAME:SETTINGS:", words[i]);
    *colon = '\0';
    ways->way[i].name = words[i];
    ways->way[i].settings = colon + 1;
  }
}

int way_in_turn(int round, int i, int count) {
  return round % 2 == 0 ? i : count - 1 - i;
}

void print_value(const char* series, double place, double value) {
  printf("value %s %.17g %.17g\n", series, place, value);
  fflush(stdout);
}

void print_floor(int rank, int size) {
  double ns;
  if (size < 2 || size > processors_usable() || rank > 1) return;
  ns = floor_one_way_ns(rank == 0);
  if (rank == 0 && ns > 0) printf("floor %.1f\n", ns);
}

double slowest_of(double mine) {
  double slowest = mine;
  MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return slowest;
}

static void print_library(void) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(text, &length);
  text[strcspn(text, "\n\r")] = '\0';
  printf("library %s\n", text);
  fflush(stdout);
}

static void usage(void) {
  int i;
  fprintf(stderr, "usage, by way of `hearth bench paper`:\n");
  for (i = 0; i < mode_count; ++i) fprintf(stderr, "  paper_probe %s %s\n", modes[i].name, modes[i].words);
}

int main(int count, char** words) {
  int rank, size, provided, i, found = -1;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (i = 0; i < mode_count && count > 1; ++i) {
    if (strcmp(words[1], modes[i].name) == 0) found = i;
  }
  if (found < 0) {
    if (rank == 0) usage();
    MPI_Finalize();
    return 2;
  }
  if (rank == 0) print_library();
  if (size > 1 && size <= processors_usable() && rank < 2) floor_make(rank == 0, 1 - rank);
  modes[found].run(count - 2, words + 2, rank, size);
  MPI_Finalize();
  MPI_T_finalize();
  return 0;
}
