/* Blocks more than 2^32 bytes apart, at displacements that fit an int and at larger ones, in the form that
 * the argument names. Most of the memory is never touched. One to four ranks. */
#include <sys/mman.h>

#include "forms.h"

enum { kRanksMax = 4, kLengthMax = 20001 };

/* In elements: the first step keeps the last block's start below 2^31, the other goes far beyond. */
static const int step_ = 0x20000001;
static const long long large_step_ = 0x40000001;

static int near_[kLengthMax];
static int *far_, *got_;

static int value_at(int from, int to, int i) {
  return 1 + (from * 4 + to) * 100003 + i;
}

static void fill(int* block, int from, int to, int length) {
  for (int i = 0; i < length; ++i) block[i] = value_at(from, to, i);
}

static void clear_all(long long step, int length) {
  for (int block = 0; block < size_; ++block)
    memset(got_ + block * step, 0, sizeof(int) * (size_t)(length + 1));
}

/* Checks that the block arrived and that nothing was written behind it. */
static void expect(const int* block, int from, int to, int length, const char* what) {
  for (int i = 0; i < length; ++i)
    CHECK(block[i] == value_at(from, to, i), "%s of %d from %d to %d: number %d is %d, not %d", what, length,
          from, to, i, block[i], value_at(from, to, i));
  CHECK(block == near_ || block[length] == 0, "%s of %d from %d to %d: more than was sent", what, length,
        from, to);
}

#define CALL_ON(comm, ...) COLLECTIVE_ON(comm, __VA_ARGS__)
#define FUNCTION test_small
#define COUNT int
#define PLACE int
#include "far_calls.h"
#undef CALL_ON
#undef FUNCTION
#undef COUNT
#undef PLACE

#if MPI_VERSION >= 4
#define CALL_ON(comm, ...) LARGE_COLLECTIVE_ON(comm, __VA_ARGS__)
#define FUNCTION test_large
#define COUNT MPI_Count
#define PLACE MPI_Aint
#include "far_calls.h"

/* Displacements in bytes: an int cannot express large ones. */
static void test_bytes(int length) {
  MPI_Count counts[kRanksMax];
  MPI_Aint places[kRanksMax];
  MPI_Datatype types[kRanksMax];
  for (int rank = 0; rank < size_; ++rank) {
    counts[rank] = length;
    places[rank] = rank * large_step_ * (MPI_Aint)sizeof(int);
    types[rank] = MPI_INT;
    fill(far_ + rank * large_step_, rank_, rank, length);
  }
  clear_all(large_step_, length);
  LARGE_COLLECTIVE_ON(MPI_COMM_WORLD, Alltoallw, alltoallw, far_, counts, places, types, got_, counts, places,
                      types);
  for (int rank = 0; rank < size_; ++rank)
    expect(got_ + rank * large_step_, rank, rank_, length, "Alltoallw");
}
#endif

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  choose_form(argc, argv);
  CHECK(size_ <= kRanksMax, "for at most %d ranks", kRanksMax);
  const size_t bytes = ((size_t)(size_ - 1) * (size_t)large_step_ + kLengthMax + 1) * sizeof(int);
  far_ = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  got_ = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  int there = far_ != MAP_FAILED && got_ != MAP_FAILED, everywhere = 0;
  MPI_Allreduce(&there, &everywhere, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  if (!everywhere) {
    if (rank_ == 0) printf("left out: this machine gives no memory of %zu bytes that is not used\n", bytes);
    MPI_Finalize();
    return 0;
  }
  const int previous = (rank_ + size_ - 1) % size_, next = (rank_ + 1) % size_;
  MPI_Comm ring;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &previous, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &ring);
  const int lengths[] = {3, kLengthMax};
  for (int i = 0; i < 2; ++i) {
    test_small(step_, lengths[i], ring);
#if MPI_VERSION >= 4
    test_large(large_step_, lengths[i], ring);
    test_bytes(lengths[i]);
#endif
  }
  MPI_Comm_free(&ring);
  munmap(far_, bytes);
  munmap(got_, bytes);
  MPI_Finalize();
  return 0;
}
