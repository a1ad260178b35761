/* The probe of `hearth bench paper`: the experiments of the papers as one program that uses only mpi.h, so
 * that any MPI library of version 3.1 or later can compile and run it (bench/paper, bench/settings.c and
 * bench/driver without its main.c). `tools/paper` starts it, with a mode for each experiment, and parses the
 * output of rank 0:
 *
 *   library TEXT                the result of MPI_Get_library_version
 *   value SERIES PLACE NUMBER   one measurement of a series at a place, for example a length
 *   floor NS                    the time of one cache line from rank 0 to rank 1, in the machine's state
 *   note TEXT                   a remark for the reader of the numbers
 *
 * Compared ways alternate in one job, so that changes of the machine affect all of them: the n-th values of
 * two series at one place belong together. A way is NAME:SETTINGS, with settings as in settings.h. Without
 * settings it is the library's default, which any library can run.
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

/* Each mode gets the arguments after its name, on all ranks. */
typedef void (*mode)(int count, char** words, int rank, int size);
void mode_ways(int count, char** words, int rank, int size);
void mode_pairs(int count, char** words, int rank, int size);
void mode_counted(int count, char** words, int rank, int size);
void mode_ring(int count, char** words, int rank, int size);
void mode_contention(int count, char** words, int rank, int size);
void mode_idle(int count, char** words, int rank, int size);
void mode_memory(int count, char** words, int rank, int size);
void mode_application(int count, char** words, int rank, int size);

/* main.c. The parsers end the job if an argument is invalid. */
void stop(const char* what, const char* word);
unsigned long number_of(const char* word, unsigned long least, unsigned long most);
void lengths_of(char* word, struct lengths* lengths);
void ways_of(int count, char** words, struct ways* ways);
/* The order of the ways in a round: alternately forward and backward, so that a drift of the machine affects
 * all. */
int way_in_turn(int round, int i, int count);
/* Called by rank 0. */
void print_value(const char* series, double place, double value);
/* Called by all ranks; prints nothing if ranks share processors. Pre: floor_make() on ranks 0 and 1. */
void print_floor(int rank, int size);
/* The largest of the ranks' values, at rank 0. */
double slowest_of(double mine);

/* counters.c: cache misses of this process, from the processor's counters. open: 0 if there are none, with
 * the reason in `why`. `kernel`: whether the kernel's work is counted too. */
struct misses {
  double first_level, last_level;
};
int counters_open(const char** why, int* kernel);
void counters_read(struct misses* misses);

#endif
