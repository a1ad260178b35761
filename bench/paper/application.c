/* A small application whose messages are profiled (multicore-impact-2007, section 5.2): heat diffusion on a
 * plane of CELLS x CELLS for each rank. Every step exchanges the edges with four neighbours, every tenth step
 * sums the change, and at the end rank 0 gathers the plane in long messages. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "../driver/driver.h"
#include "paper.h"

struct plane {
  double *now, *next;
  int cells, width; /* with one row and one column of neighbours on each side */
  MPI_Comm grid;
  MPI_Datatype column;
  int up, down, left, right;
};

static double* at(const struct plane* plane, double* cells, int row, int column) {
  return cells + (size_t)row * (size_t)plane->width + column;
}

static void exchange_edges(const struct plane* plane) {
  const int n = plane->cells;
  double* now = plane->now;
  MPI_Sendrecv(at(plane, now, 1, 1), n, MPI_DOUBLE, plane->up, tag_data, at(plane, now, n + 1, 1), n,
               MPI_DOUBLE, plane->down, tag_data, plane->grid, MPI_STATUS_IGNORE);
  MPI_Sendrecv(at(plane, now, n, 1), n, MPI_DOUBLE, plane->down, tag_data, at(plane, now, 0, 1), n,
               MPI_DOUBLE, plane->up, tag_data, plane->grid, MPI_STATUS_IGNORE);
  MPI_Sendrecv(at(plane, now, 1, 1), 1, plane->column, plane->left, tag_data, at(plane, now, 1, n + 1), 1,
               plane->column, plane->right, tag_data, plane->grid, MPI_STATUS_IGNORE);
  MPI_Sendrecv(at(plane, now, 1, n), 1, plane->column, plane->right, tag_data, at(plane, now, 1, 0), 1,
               plane->column, plane->left, tag_data, plane->grid, MPI_STATUS_IGNORE);
}

static double spread(struct plane* plane) {
  double change = 0, *kept = plane->now;
  int row, column;
  for (row = 1; row <= plane->cells; ++row) {
    for (column = 1; column <= plane->cells; ++column) {
      const double value =
          0.25 * (*at(plane, plane->now, row - 1, column) + *at(plane, plane->now, row + 1, column) +
                  *at(plane, plane->now, row, column - 1) + *at(plane, plane->now, row, column + 1));
      change += fabs(value - *at(plane, plane->now, row, column));
      *at(plane, plane->next, row, column) = value;
    }
  }
  plane->now = plane->next;
  plane->next = kept;
  return change;
}

static void make_plane(struct plane* plane, int cells, int size) {
  int sides[2] = {0, 0}, wraps[2] = {1, 1}, row, column;
  size_t count;
  plane->cells = cells;
  plane->width = cells + 2;
  count = (size_t)plane->width * (size_t)plane->width;
  plane->now = calloc(count, sizeof(double));
  plane->next = calloc(count, sizeof(double));
  if (plane->now == NULL || plane->next == NULL) stop("no memory for the plane", "");
  MPI_Dims_create(size, 2, sides);
  MPI_Cart_create(MPI_COMM_WORLD, 2, sides, wraps, 0, &plane->grid);
  MPI_Cart_shift(plane->grid, 0, 1, &plane->up, &plane->down);
  MPI_Cart_shift(plane->grid, 1, 1, &plane->left, &plane->right);
  MPI_Type_vector(cells, 1, plane->width, MPI_DOUBLE, &plane->column);
  MPI_Type_commit(&plane->column);
  for (row = 1; row <= cells; ++row) {
    for (column = 1; column <= cells; ++column) *at(plane, plane->now, row, column) = row * column % 7;
  }
}

/* The mean of the plane stays constant, since the plane is periodic. */
static double gather_mean(const struct plane* plane, int rank, int size) {
  const int count = plane->width * plane->cells;
  double* piece = malloc((size_t)count * sizeof(double));
  double sum = 0;
  int from, row, column;
  if (piece == NULL) stop("no memory to gather the plane", "");
  if (rank != 0) MPI_Send(at(plane, plane->now, 1, 0), count, MPI_DOUBLE, 0, tag_data, plane->grid);
  for (from = 0; from < size && rank == 0; ++from) {
    const double* cells = at(plane, plane->now, 1, 0);
    if (from != 0) {
      MPI_Recv(piece, count, MPI_DOUBLE, from, tag_data, plane->grid, MPI_STATUS_IGNORE);
      cells = piece;
    }
    for (row = 0; row < plane->cells; ++row) {
      for (column = 1; column <= plane->cells; ++column) sum += cells[row * plane->width + column];
    }
  }
  free(piece);
  return sum / plane->cells / plane->cells / size;
}

void mode_application(int count, char** words, int rank, int size) {
  struct plane plane;
  double change = 0, sum = 0, before, after;
  int step, steps;
  if (count != 2) stop("needs two words:", "application");
  make_plane(&plane, (int)number_of(words[0], 2, 10000), size);
  steps = (int)number_of(words[1], 1, 1000000);
  before = gather_mean(&plane, rank, size);
  for (step = 0; step < steps; ++step) {
    exchange_edges(&plane);
    change = spread(&plane);
    if (step % 10 == 9) MPI_Allreduce(&change, &sum, 1, MPI_DOUBLE, MPI_SUM, plane.grid);
  }
  after = gather_mean(&plane, rank, size);
  if (rank == 0 && fabs(after - before) > 1e-9 * fabs(before) + 1e-12) stop("heat was lost", "");
  MPI_Type_free(&plane.column);
  MPI_Comm_free(&plane.grid);
  free(plane.now);
  free(plane.next);
}
