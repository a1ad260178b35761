/* Data tiling (multicore-impact-2007, section 5.4, figure 7): each process multiplies its data, sends them to
 * its right neighbour, receives those of its left one, and so on for some steps. All data go in one piece, or
 * tile by tile, where each tile makes all steps while it is in the caches. Both give the same numbers. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "../driver/driver.h"
#include "paper.h"

struct ring {
  double* data;
  double* other;
  size_t numbers;
  int steps, rank, size;
};

/* Powers of two, so that products are exact. */
static double factor_of(int rank) {
  return rank % 2 == 0 ? 2 : 0.5;
}

static void start_data(const struct ring* ring) {
  size_t i;
  for (i = 0; i < ring->numbers; ++i) ring->data[i] = (double)(i % 1021 + 1) * (ring->rank + 1);
}

static void multiply(double* data, size_t count, double factor) {
  size_t i;
  for (i = 0; i < count; ++i) data[i] *= factor;
}

/* The result is in one of the two arrays, depending on whether the number of steps is odd. */
static void process(const struct ring* ring, size_t first, size_t count) {
  const int right = (ring->rank + 1) % ring->size, left = (ring->rank + ring->size - 1) % ring->size;
  double *from = ring->data + first, *to = ring->other + first;
  int step;
  for (step = 0; step < ring->steps; ++step) {
    double* kept = from;
    multiply(from, count, factor_of(ring->rank));
    MPI_Sendrecv(from, (int)count, MPI_DOUBLE, right, tag_data, to, (int)count, MPI_DOUBLE, left, tag_data,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    from = to;
    to = kept;
  }
}

static void check_data(const struct ring* ring) {
  const double* found = ring->steps % 2 == 0 ? ring->data : ring->other;
  const int origin = ((ring->rank - ring->steps) % ring->size + ring->size) % ring->size;
  double factor = 1;
  size_t i;
  int step;
  for (step = 0; step < ring->steps; ++step) factor *= factor_of((origin + step) % ring->size);
  for (i = 0; i < ring->numbers; ++i) {
    if (found[i] != (double)(i % 1021 + 1) * (origin + 1) * factor) stop("wrong data after the ring", "");
  }
}

static double go_round(const struct ring* ring, size_t tile) {
  size_t first;
  double begin;
  start_data(ring);
  MPI_Barrier(MPI_COMM_WORLD);
  begin = now_ns();
  for (first = 0; first < ring->numbers; first += tile)
    process(ring, first, ring->numbers - first < tile ? ring->numbers - first : tile);
  MPI_Barrier(MPI_COMM_WORLD);
  begin = now_ns() - begin;
  check_data(ring);
  return slowest_of(begin);
}

void mode_ring(int count, char** words, int rank, int size) {
  struct ring ring;
  size_t tile;
  int round, rounds, i;
  if (count != 4) stop("needs four words:", "ring");
  ring.numbers = number_of(words[0], sizeof(double), 1ul << 30) / sizeof(double);
  tile = number_of(words[1], sizeof(double), 1ul << 30) / sizeof(double);
  ring.steps = (int)number_of(words[2], 1, 100);
  rounds = (int)number_of(words[3], 1, 1000);
  ring.rank = rank;
  ring.size = size;
  ring.data = malloc(ring.numbers * sizeof(double));
  ring.other = calloc(ring.numbers, sizeof(double));
  if (ring.data == NULL || ring.other == NULL) stop("no memory for", words[0]);
  /* The first pass touches the memory. */
  go_round(&ring, tile);
  go_round(&ring, ring.numbers);
  for (round = 0; round < rounds; ++round) {
    for (i = 0; i < 2; ++i) {
      const int tiled = way_in_turn(round, i, 2);
      const double ns = go_round(&ring, tiled ? tile : ring.numbers);
      if (rank == 0) print_value(tiled ? "tiled" : "whole", size, ns / ring.steps);
    }
  }
  print_floor(rank, size);
  free(ring.data);
  free(ring.other);
}
