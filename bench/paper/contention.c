/* A memory-bound program (multicore-impact-2007, section 5.3, figures 5 and 6): each step traverses three
 * arrays that exceed every second-level cache, and sends 64 KiB to a neighbour. The time of a step shows how
 * much the processes disturb each other; the launcher places them. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "../driver/driver.h"
#include "paper.h"

enum { halo = 8192 }; /* numbers */

static double steps_ns(double* a, double* b, double* c, size_t count, int steps, int rank, int size) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  double begin;
  size_t i;
  int step;
  MPI_Barrier(MPI_COMM_WORLD);
  begin = now_ns();
  for (step = 0; step < steps; ++step) {
    for (i = 0; i < count; ++i) a[i] = b[i] + 0.5 * c[i];
    MPI_Sendrecv(a, halo, MPI_DOUBLE, right, tag_data, c, halo, MPI_DOUBLE, left, tag_data, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    /* The arrays are read in ways that the compiler does not see. */
    __asm__ volatile("" : : "r"(a) : "memory");
  }
  return slowest_of((now_ns() - begin) / steps);
}

void mode_contention(int count, char** words, int rank, int size) {
  double *a, *b, *c;
  size_t numbers, i;
  int steps, rounds, round;
  if (count != 4) stop("needs four words:", "contention");
  numbers = number_of(words[1], halo * sizeof(double), 1ul << 30) / sizeof(double);
  steps = (int)number_of(words[2], 1, 10000);
  rounds = (int)number_of(words[3], 1, 1000);
  a = malloc(numbers * sizeof(double));
  b = malloc(numbers * sizeof(double));
  c = malloc(numbers * sizeof(double));
  if (a == NULL || b == NULL || c == NULL) stop("no memory for", words[1]);
  for (i = 0; i < numbers; ++i) a[i] = b[i] = c[i] = (double)i;
  steps_ns(a, b, c, numbers, 1, rank, size);
  for (round = 0; round < rounds; ++round) {
    const double ns = steps_ns(a, b, c, numbers, steps, rank, size);
    if (rank == 0) print_value(words[0], size, ns);
  }
  print_floor(rank, size);
  free(a);
  free(b);
  free(c);
}
