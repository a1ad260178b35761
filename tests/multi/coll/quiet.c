/* Every collective completes with many more ranks than processors. While one rank is late, the other ranks
 * sleep, so their processor time is small. Argument: the delay of that rank in milliseconds. */
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"

enum { kBlock = 3 }; /* ints per pair of ranks */

static double processor_ms(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return 1e3 * (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-3 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

typedef enum {
  kBarrier,
  kIbarrier,
  kBcast,
  kScatter,
  kGather,
  kReduce,
  kAllgather,
  kAllreduce,
  kIallreduce,
  kAlltoall,
  kReduceScatter,
  kScan,
  kCollectives
} Collective;
static const char* const kNames[] = {"barrier",    "ibarrier", "bcast",          "scatter",
                                     "gather",     "reduce",   "allgather",      "allreduce",
                                     "iallreduce", "alltoall", "reduce_scatter", "scan"};

/* The late rank, for which other ranks must wait: the root of a broadcast or scatter, the first rank of a
 * scan. */
static int late_rank(Collective collective) {
  if (collective == kBcast || collective == kScatter) return size_ - 1;
  return collective == kScan ? 0 : size_ / 2;
}
static int is_waiting(Collective collective) {
  return collective == kGather || collective == kReduce ? rank_ == 0 : rank_ != late_rank(collective);
}

static int value(int from, int to) {
  return 1000 * from + to;
}

static void run(Collective collective, int* in, int* out) {
  const MPI_Comm world = MPI_COMM_WORLD;
  const int late = late_rank(collective), sum = size_ * (size_ - 1) / 2;
  MPI_Request request;
  for (int i = 0; i < size_ * kBlock; ++i) out[i] = value(rank_, i / kBlock), in[i] = -1;
  switch (collective) {
    case kBarrier:
      MPI_Barrier(world);
      break;
    case kIbarrier:
      MPI_Ibarrier(world, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      break;
    case kBcast:
      MPI_Bcast(out, kBlock, MPI_INT, late, world);
      CHECK(out[0] == value(late, 0), "MPI_Bcast gave %d", out[0]);
      break;
    case kScatter:
      MPI_Scatter(out, kBlock, MPI_INT, in, kBlock, MPI_INT, late, world);
      CHECK(in[0] == value(late, rank_), "MPI_Scatter gave %d", in[0]);
      break;
    case kGather:
      MPI_Gather(out, kBlock, MPI_INT, in, kBlock, MPI_INT, 0, world);
      for (int from = 0; rank_ == 0 && from < size_; ++from)
        CHECK(in[from * kBlock] == value(from, 0), "MPI_Gather gave %d", in[from * kBlock]);
      break;
    case kReduce:
      MPI_Reduce(out, in, kBlock, MPI_INT, MPI_SUM, 0, world);
      CHECK(rank_ != 0 || in[0] == 1000 * sum, "MPI_Reduce gave %d", in[0]);
      break;
    case kAllgather:
      MPI_Allgather(out, kBlock, MPI_INT, in, kBlock, MPI_INT, world);
      for (int from = 0; from < size_; ++from)
        CHECK(in[from * kBlock] == value(from, 0), "MPI_Allgather gave %d", in[from * kBlock]);
      break;
    case kAllreduce:
      MPI_Allreduce(out, in, kBlock, MPI_INT, MPI_SUM, world);
      CHECK(in[0] == 1000 * sum, "MPI_Allreduce gave %d", in[0]);
      break;
    case kIallreduce:
      MPI_Iallreduce(out, in, kBlock, MPI_INT, MPI_SUM, world, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      CHECK(in[0] == 1000 * sum, "MPI_Iallreduce gave %d", in[0]);
      break;
    case kAlltoall:
      MPI_Alltoall(out, kBlock, MPI_INT, in, kBlock, MPI_INT, world);
      for (int from = 0; from < size_; ++from)
        CHECK(in[from * kBlock] == value(from, rank_), "MPI_Alltoall gave %d", in[from * kBlock]);
      break;
    case kReduceScatter:
      MPI_Reduce_scatter_block(out, in, kBlock, MPI_INT, MPI_SUM, world);
      CHECK(in[0] == 1000 * sum + size_ * rank_, "MPI_Reduce_scatter_block gave %d", in[0]);
      break;
    default:
      MPI_Scan(out, in, kBlock, MPI_INT, MPI_SUM, world);
      CHECK(in[0] == 1000 * (rank_ * (rank_ + 1) / 2), "MPI_Scan gave %d", in[0]);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  const double away_ms = argc > 1 ? atof(argv[1]) : 1000;
  int* in = malloc(sizeof(int) * (size_t)size_ * kBlock);
  int* out = malloc(sizeof(int) * (size_t)size_ * kBlock);
  for (int collective = 0; collective < kCollectives; ++collective) {
    run(collective, in, out); /* excludes one-time work from the measurement */
    MPI_Barrier(MPI_COMM_WORLD);
    const double before_ms = processor_ms();
    if (rank_ == late_rank(collective)) usleep((useconds_t)(1e3 * away_ms));
    double came = now();
    run(collective, in, out);
    const double left = now();
    double used_ms = processor_ms() - before_ms, all_ms = 0;
    MPI_Bcast(&came, 1, MPI_DOUBLE, late_rank(collective), MPI_COMM_WORLD);
    CHECK(!is_waiting(collective) || left >= came, "%s: over %g s before rank %d came", kNames[collective],
          came - left, late_rank(collective));
    MPI_Reduce(&used_ms, &all_ms, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    /* A single rank that does not sleep would use more: the work itself takes less than a millisecond per
     * rank. */
    if (rank_ == 0)
      printf("%-16s %.1f ms of a processor, %.0f ms away\n", kNames[collective], all_ms, away_ms);
    CHECK(rank_ != 0 || all_ms < 0.1 * away_ms + size_,
          "%s: all ranks used %.0f ms of a processor in %.0f ms", kNames[collective], all_ms, away_ms);
  }
  free(in);
  free(out);
  MPI_Finalize();
  return 0;
}
