/* Blocking and nonblocking collectives, also on subsets of the ranks. */
#include <stdlib.h>

#include "steps.h"

enum { kCountMax = 40000 };

static double* make_buffer(void) {
  return calloc((size_t)kCountMax * (size_t)size_, sizeof(double));
}

static int count(void) {
  const int counts[] = {1, 10, 1000, kCountMax};
  return counts[draw(4)];
}

static void call(int which, int each, int root, double* from, double* to, MPI_Comm comm) {
  switch (which) {
    case 0:
      MPI_Barrier(comm);
      return;
    case 1:
      MPI_Bcast(from, each, MPI_DOUBLE, root, comm);
      return;
    case 2:
      MPI_Reduce(from, to, each, MPI_DOUBLE, MPI_SUM, root, comm);
      return;
    case 3:
      MPI_Allreduce(from, to, each, MPI_DOUBLE, MPI_SUM, comm);
      return;
    case 4:
      MPI_Gather(from, each, MPI_DOUBLE, to, each, MPI_DOUBLE, root, comm);
      return;
    case 5:
      MPI_Scatter(from, each, MPI_DOUBLE, to, each, MPI_DOUBLE, root, comm);
      return;
    case 6:
      MPI_Allgather(from, each, MPI_DOUBLE, to, each, MPI_DOUBLE, comm);
      return;
    case 7:
      MPI_Alltoall(from, each, MPI_DOUBLE, to, each, MPI_DOUBLE, comm);
      return;
    case 8:
      MPI_Scan(from, to, each, MPI_DOUBLE, MPI_SUM, comm);
      return;
    default:
      MPI_Reduce_scatter_block(from, to, each, MPI_DOUBLE, MPI_SUM, comm);
  }
}

void step_collective(const Late* late) {
  double *from = make_buffer(), *to = make_buffer();
  const int calls = 1 + draw(3);
  for (int i = 0; i < calls; ++i) {
    const int which = draw(10), each = count(), root = draw(size_);
    if (i == calls / 2) be_late(late);
    call(which, each, root, from, to, MPI_COMM_WORLD);
  }
  free(from);
  free(to);
}

/* Two nonblocking collectives at the same time, completed in either order, with a pending receive. */
void step_nonblocking_collectives(const Late* late) {
  double *from = make_buffer(), *to = make_buffer(), *other = make_buffer();
  const int each = count(), root = draw(size_), form = draw(4), next = (rank_ + 1) % size_;
  MPI_Request requests[4];
  int token = rank_, got = -1, flag = 0;
  MPI_Irecv(&got, 1, MPI_INT, (rank_ + size_ - 1) % size_, 5, MPI_COMM_WORLD, &requests[0]);
  if (form % 2 == 0) be_late(late);
  MPI_Iallreduce(from, to, each, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
  if (form % 2 == 1) be_late(late);
  MPI_Ibcast(other, each, MPI_DOUBLE, root, MPI_COMM_WORLD, &requests[2]);
  MPI_Isend(&token, 1, MPI_INT, next, 5, MPI_COMM_WORLD, &requests[3]);
  if (form == 0) {
    MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
  } else if (form == 1) {
    while (!flag) MPI_Testall(4, requests, &flag, MPI_STATUSES_IGNORE);
  }
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  free(from);
  free(to);
  free(other);
}

/* The even and the odd ranks call different collectives, and exchange a message in between. */
void step_split(const Late* late) {
  double *from = make_buffer(), *to = make_buffer();
  const int which[2] = {draw(10), draw(10)}, each = count(), root_place = draw(size_), color = rank_ % 2;
  MPI_Comm part;
  int part_size, value = 0;
  MPI_Comm_split(MPI_COMM_WORLD, color, draw(2) * rank_, &part);
  MPI_Comm_size(part, &part_size);
  be_late(late);
  call(which[color], each, root_place % part_size, from, to, part);
  if (rank_ == 0) MPI_Send(&value, 1, MPI_INT, 1, 6, MPI_COMM_WORLD);
  if (rank_ == 1) MPI_Recv(&value, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  call(which[1 - color], each, root_place % part_size, from, to, part);
  MPI_Comm_free(&part);
  free(from);
  free(to);
}
