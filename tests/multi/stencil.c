/* Heat spreads over a square plate that is cut into a grid of rectangles, one per rank. Each step exchanges
 * borders: rows are contiguous in memory, columns are packed first. Every rank also computes the whole plate
 * alone. Both results must agree to the last bit, because every point gets the same operations in the same
 * order on any rank. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSide = 96, kSteps = 60 };

/* A rectangle with a border of one point on each side. */
typedef struct {
  int rows, columns, first_row, first_column;
  double *now, *next;
} Plate;

static double* at(const Plate* plate, double* values, int row, int column) {
  return values + (size_t)row * (size_t)(plate->columns + 2) + column;
}

static double start_value(int row, int column) {
  if (row < 0 || column < 0 || row >= kSide || column >= kSide) return 0.0;
  return (double)((row * 31 + column * 17) % 101) / 7.0;
}

static void create(Plate* plate, int first_row, int rows, int first_column, int columns) {
  plate->rows = rows;
  plate->columns = columns;
  plate->first_row = first_row;
  plate->first_column = first_column;
  const size_t points = (size_t)(rows + 2) * (size_t)(columns + 2);
  plate->now = calloc(points, sizeof(double));
  plate->next = calloc(points, sizeof(double));
  for (int row = 1; row <= rows; ++row)
    for (int column = 1; column <= columns; ++column)
      *at(plate, plate->now, row, column) = start_value(first_row + row - 1, first_column + column - 1);
}

static void destroy(Plate* plate) {
  free(plate->now);
  free(plate->next);
}

static void step(Plate* plate) {
  for (int row = 1; row <= plate->rows; ++row)
    for (int column = 1; column <= plate->columns; ++column) {
      const double around = *at(plate, plate->now, row - 1, column) +
                            *at(plate, plate->now, row + 1, column) +
                            *at(plate, plate->now, row, column - 1) + *at(plate, plate->now, row, column + 1);
      *at(plate, plate->next, row, column) = 0.5 * *at(plate, plate->now, row, column) + 0.125 * around;
    }
  double* swap = plate->now;
  plate->now = plate->next;
  plate->next = swap;
}

/* Neighbours: up, down, left, right; MPI_PROC_NULL at the edge of the plate. */
static void exchange(Plate* plate, const int neighbour[4], double* columns[4]) {
  MPI_Request requests[8];
  int n = 0;
  MPI_Irecv(at(plate, plate->now, 0, 1), plate->columns, MPI_DOUBLE, neighbour[0], 1, MPI_COMM_WORLD,
            &requests[n++]);
  MPI_Irecv(at(plate, plate->now, plate->rows + 1, 1), plate->columns, MPI_DOUBLE, neighbour[1], 0,
            MPI_COMM_WORLD, &requests[n++]);
  MPI_Irecv(columns[0], plate->rows, MPI_DOUBLE, neighbour[2], 3, MPI_COMM_WORLD, &requests[n++]);
  MPI_Irecv(columns[1], plate->rows, MPI_DOUBLE, neighbour[3], 2, MPI_COMM_WORLD, &requests[n++]);
  for (int row = 1; row <= plate->rows; ++row) {
    columns[2][row - 1] = *at(plate, plate->now, row, 1);
    columns[3][row - 1] = *at(plate, plate->now, row, plate->columns);
  }
  MPI_Isend(at(plate, plate->now, 1, 1), plate->columns, MPI_DOUBLE, neighbour[0], 0, MPI_COMM_WORLD,
            &requests[n++]);
  MPI_Isend(at(plate, plate->now, plate->rows, 1), plate->columns, MPI_DOUBLE, neighbour[1], 1,
            MPI_COMM_WORLD, &requests[n++]);
  MPI_Isend(columns[2], plate->rows, MPI_DOUBLE, neighbour[2], 2, MPI_COMM_WORLD, &requests[n++]);
  MPI_Isend(columns[3], plate->rows, MPI_DOUBLE, neighbour[3], 3, MPI_COMM_WORLD, &requests[n++]);
  MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
  for (int row = 1; row <= plate->rows; ++row) {
    if (neighbour[2] != MPI_PROC_NULL) *at(plate, plate->now, row, 0) = columns[0][row - 1];
    if (neighbour[3] != MPI_PROC_NULL) *at(plate, plate->now, row, plate->columns + 1) = columns[1][row - 1];
  }
}

/* The first row or column of part `index` of `parts`. */
static int begin_of(int index, int parts) {
  return (int)((long)kSide * index / parts);
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  int grid_rows = 1;
  for (int i = 1; i * i <= size; ++i)
    if (size % i == 0) grid_rows = i;
  const int grid_columns = size / grid_rows;
  const int my_row = rank / grid_columns, my_column = rank % grid_columns;
  const int neighbour[4] = {
      my_row > 0 ? rank - grid_columns : MPI_PROC_NULL,
      my_row < grid_rows - 1 ? rank + grid_columns : MPI_PROC_NULL,
      my_column > 0 ? rank - 1 : MPI_PROC_NULL,
      my_column < grid_columns - 1 ? rank + 1 : MPI_PROC_NULL,
  };

  Plate mine, whole;
  const int first_row = begin_of(my_row, grid_rows), first_column = begin_of(my_column, grid_columns);
  create(&mine, first_row, begin_of(my_row + 1, grid_rows) - first_row, first_column,
         begin_of(my_column + 1, grid_columns) - first_column);
  create(&whole, 0, kSide, 0, kSide);
  double* columns[4];
  for (int i = 0; i < 4; ++i) columns[i] = calloc((size_t)mine.rows, sizeof(double));

  double mine_sum = 0.0;
  for (int i = 0; i < kSteps; ++i) {
    exchange(&mine, neighbour, columns);
    step(&mine);
    step(&whole);
  }

  long wrong = 0;
  for (int row = 1; row <= mine.rows; ++row)
    for (int column = 1; column <= mine.columns; ++column) {
      const double value = *at(&mine, mine.now, row, column);
      mine_sum += value;
      const double expected = *at(&whole, whole.now, mine.first_row + row, mine.first_column + column);
      if (memcmp(&value, &expected, sizeof(double)) != 0) ++wrong;
    }

  long wrong_of_all = -1;
  double sum_of_all = 0.0;
  MPI_Allreduce(&wrong, &wrong_of_all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(&mine_sum, &sum_of_all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    printf("stencil: %d x %d ranks, heat %.6f, %ld points differ\n", grid_rows, grid_columns, sum_of_all,
           wrong_of_all);

  for (int i = 0; i < 4; ++i) free(columns[i]);
  destroy(&mine);
  destroy(&whole);
  MPI_Finalize();
  /* Heat leaves through the edge only, and 60 steps do not empty the plate. */
  return wrong_of_all == 0 && sum_of_all > 0.0 ? 0 : 1;
}
