/* The time from SIGKILL of a rank until the calls of other ranks end with an error. Ranks 0 and 1 wait by
 * turns in a receive, a long send and a synchronous send; the other ranks die one after the other, and each
 * sends the time of its death first. With an argument rank 0 prints one line per death: the times of both
 * ranks in microseconds. */
#include "fault.h"

enum { long_count = 1 << 20 };

static double now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e6 * (double)time.tv_sec + 1e-3 * (double)time.tv_nsec;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int size;
  MPI_Comm_rank(MPI_COMM_WORLD, &own_rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD); /* every rank returns errors before the first one dies */
  const int both = 2;
  if (own_rank_ >= both) {
    /* Blocked until its turn, so that it does not compete for processors. */
    int turn;
    MPI_Recv(&turn, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    pause_ms(3);
    const double time = now_us();
    for (int to = 0; to < both; ++to) MPI_Send(&time, 1, MPI_DOUBLE, to, 2, MPI_COMM_WORLD);
    die();
  }
  int* data = calloc(long_count, sizeof *data);
  for (int victim = both; victim < size; ++victim) {
    MPI_Request killed;
    double time = 0;
    MPI_Irecv(&time, 1, MPI_DOUBLE, victim, 2, MPI_COMM_WORLD, &killed);
    if (own_rank_ == 0) MPI_Send(&victim, 1, MPI_INT, victim, 1, MPI_COMM_WORLD);
    int code = MPI_SUCCESS;
    switch (victim % 3) {
      case 0:
        code = MPI_Recv(data, 1, MPI_INT, victim, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
      case 1:
        code = MPI_Send(data, long_count, MPI_INT, victim, 3, MPI_COMM_WORLD);
        break;
      default:
        code = MPI_Ssend(data, 1, MPI_INT, victim, 3, MPI_COMM_WORLD);
        break;
    }
    const double noticed = now_us();
    CHECK(class_of(code) == MPIX_ERR_PROC_FAILED, "%s", words_of(code));
    CHECK(MPI_Wait(&killed, MPI_STATUS_IGNORE) == MPI_SUCCESS, "what it sent before it died is lost");
    double took = noticed - time, other = 0;
    CHECK(took > 0, "an error before the death");
    int acknowledged;
    MPIX_Comm_ack_failed(MPI_COMM_WORLD, size, &acknowledged);
    MPI_Sendrecv(&took, 1, MPI_DOUBLE, 1 - own_rank_, 4, &other, 1, MPI_DOUBLE, 1 - own_rank_, 4,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (own_rank_ == 0 && argc > 1) printf("%.1f %.1f\n", took, other);
  }
  free(data);
  MPI_Finalize();
  return 0;
}
