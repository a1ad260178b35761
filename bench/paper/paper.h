/* What `hearth bench paper` measures with: the experiments of the papers, as one program that uses only
 * mpi.h, so that any MPI library of version 3.1 or later compiles and runs it (bench/paper, bench/settings.c
 * and bench/driver without its main.c). `tools/paper` starts it, a mode for each experiment, and reads what
 * rank 0 prints:
 *
 *   library TEXT                what MPI_Get_library_version says
 *   value SERIES PLACE NUMBER   one measurement of a series at a place, a length for example
 *   floor NS                    what one cache line takes from rank 0 to rank 1, in the state the machine is
 * in note TEXT                   what the reader of the numbers should know
 *
 * Ways that are compared take turns in one job, so that whatever the machine does meanwhile meets all: the
 * n-th values of two series at one place belong together. A way is NAME:SETTINGS, with settings as in
 * settings.h; with no settings it is the library as it is, and any library can run it.
 *
 * Every process runs one thread. */
#ifndef HEARTH_BENCH_PAPER_H
#define HEARTH_BENCH_PAPER_H

#include <stddef.h>

enum { ways_max = 16, lengths_max = 64 };

struct way {
  const char* name;
  const char* settings;
};

struct ways {
  struct way way[ways_max];
  int count;
};

struct lengths {
  size_t bytes[lengths_max];
  int count;
};

/* Each mode gets the words after its name, on all ranks. */
typedef void (*mode)(int count, char** words, int rank, int size);
void mode_ways(int count, char** words, int rank, int size);
void mode_pairs(int count, char** words, int rank, int size);
void mode_counted(int count, char** words, int rank, int size);
void mode_ring(int count, char** words, int rank, int size);
void mode_contention(int count, char** words, int rank, int size);
void mode_idle(int count, char** words, int rank, int size);
void mode_memory(int count, char** words, int rank, int size);
void mode_application(int count, char** words, int rank, int size);

/* main.c. Those that read end the job where the word makes no sense. */
void stop(const char* what, const char* word);
unsigned long number_of(const char* word, unsigned long least, unsigned long most);
void lengths_of(char* word, struct lengths* lengths);
void ways_of(int count, char** words, struct ways* ways);
/* The ways of a round: there and back, so that a drift of the machine meets all. */
int way_in_turn(int round, int i, int count);
/* Of rank 0. */
void print_value(const char* series, double place, double value);
/* Called by all ranks; nothing where ranks share processors. Pre: floor_make() on ranks 0 and 1. */
void print_floor(int rank, int size);
/* The largest of the ranks' values, at rank 0. */
double slowest_of(double mine);

/* counters.c: cache misses of this process, by the processor's own counters. open: 0 where there are none,
 * and why. Kernel: whether its work is counted too. */
struct misses {
  double first_level, last_level;
};
int counters_open(const char** why, int* kernel);
void counters_read(struct misses* misses);

#endif
