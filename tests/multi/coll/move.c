/* Collectives that move data: every byte of every buffer is compared with the definition in the standard. */
#include "buffers.h"
#include "forms.h"

static void test_bcast(const Kind* kind, int count) {
  void* buffer = allocate(kind, count);
  for (int root = 0; root < size_; ++root) {
    if (rank_ == root) fill(kind, buffer, count, root, 0);
    COLLECTIVE(Bcast, bcast, buffer, count, kind->type, root);
    check_data(kind, buffer, count, root, 0, "Bcast");
    check_filler(kind, buffer, count, "Bcast");
  }
  free(buffer);
}

/* Sends one type and receives another one with the same data. */
static void test_bcast_mixed(const Kind* gapped_three, int count) {
  const Kind plain = {"MPI_DOUBLE", MPI_DOUBLE, 8, 1, 8, {0, 0}, {8, 0}};
  void* gapped_buffer = allocate(gapped_three, count);
  void* plain_buffer = allocate(&plain, 3 * count);
  for (int root = 0; root < size_; ++root) {
    if (rank_ == root) {
      fill(gapped_three, gapped_buffer, count, root, 1);
      COLLECTIVE(Bcast, bcast, gapped_buffer, count, gapped_three->type, root);
      clear(gapped_three, gapped_buffer, count);
    } else {
      COLLECTIVE(Bcast, bcast, plain_buffer, 3 * count, MPI_DOUBLE, root);
      check_data(&plain, plain_buffer, 3 * count, root, 1, "Bcast to another type");
      check_filler(&plain, plain_buffer, 3 * count, "Bcast to another type");
    }
  }
  free(gapped_buffer);
  free(plain_buffer);
}

static void test_gather(const Kind* kind, int count, int in_place) {
  const char* what = in_place ? "Gather in place" : "Gather";
  void* own = allocate(kind, count);
  unsigned char* all = allocate(kind, (long)count * size_);
  for (int root = 0; root < size_; ++root) {
    fill(kind, own, count, rank_, root);
    unsigned char* own_place = all + (size_t)rank_ * count * kind->extent;
    if (rank_ == root && in_place) {
      fill(kind, own_place, count, rank_, root);
      COLLECTIVE(Gather, gather, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all, count, kind->type, root);
    } else if (rank_ == root) {
      COLLECTIVE(Gather, gather, own, count, kind->type, all, count, kind->type, root);
    } else {
      COLLECTIVE(Gather, gather, own, count, kind->type, NULL, -1, MPI_DATATYPE_NULL, root);
    }
    if (rank_ == root)
      for (int from = 0; from < size_; ++from)
        check_data(kind, all + (size_t)from * count * kind->extent, count, from, root, what);
    check_filler(kind, all, (long)count * size_, what);
    check_data(kind, own, count, rank_, root, what);
  }
  free(own);
  free(all);
}

static void test_scatter(const Kind* kind, int count, int in_place) {
  const char* what = in_place ? "Scatter in place" : "Scatter";
  void* own = allocate(kind, count);
  unsigned char* all = allocate(kind, (long)count * size_);
  for (int root = 0; root < size_; ++root) {
    if (rank_ == root) {
      for (int to = 0; to < size_; ++to) fill(kind, all + (size_t)to * count * kind->extent, count, root, to);
      if (in_place) {
        COLLECTIVE(Scatter, scatter, all, count, kind->type, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, root);
      } else {
        COLLECTIVE(Scatter, scatter, all, count, kind->type, own, count, kind->type, root);
      }
      for (int to = 0; to < size_; ++to)
        check_data(kind, all + (size_t)to * count * kind->extent, count, root, to, what);
      check_filler(kind, all, (long)count * size_, what);
    } else {
      COLLECTIVE(Scatter, scatter, NULL, -1, MPI_DATATYPE_NULL, own, count, kind->type, root);
    }
    if (rank_ != root || !in_place) check_data(kind, own, count, root, rank_, what);
    check_filler(kind, own, count, what);
  }
  free(own);
  free(all);
}

static void test_allgather(const Kind* kind, int count, int in_place) {
  const char* what = in_place ? "Allgather in place" : "Allgather";
  void* own = allocate(kind, count);
  unsigned char* all = allocate(kind, (long)count * size_);
  fill(kind, own, count, rank_, 0);
  if (in_place) {
    fill(kind, all + (size_t)rank_ * count * kind->extent, count, rank_, 0);
    COLLECTIVE(Allgather, allgather, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all, count, kind->type);
  } else {
    COLLECTIVE(Allgather, allgather, own, count, kind->type, all, count, kind->type);
  }
  for (int from = 0; from < size_; ++from)
    check_data(kind, all + (size_t)from * count * kind->extent, count, from, 0, what);
  check_filler(kind, all, (long)count * size_, what);
  free(own);
  free(all);
}

static void test_alltoall(const Kind* kind, int count, int in_place) {
  const char* what = in_place ? "Alltoall in place" : "Alltoall";
  unsigned char* out = allocate(kind, (long)count * size_);
  unsigned char* in = allocate(kind, (long)count * size_);
  unsigned char* source = in_place ? in : out;
  for (int to = 0; to < size_; ++to) fill(kind, source + (size_t)to * count * kind->extent, count, rank_, to);
  if (in_place) {
    COLLECTIVE(Alltoall, alltoall, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, in, count, kind->type);
  } else {
    COLLECTIVE(Alltoall, alltoall, out, count, kind->type, in, count, kind->type);
  }
  for (int from = 0; from < size_; ++from)
    check_data(kind, in + (size_t)from * count * kind->extent, count, from, rank_, what);
  check_filler(kind, in, (long)count * size_, what);
  free(out);
  free(in);
}

/* Vector variants: the number of elements from `from` to `to`; some pairs exchange none. */
static int count_between(int from, int to, int count) {
  return (from * 3 + to * 5) % 4 == 0 ? 0 : count + (from + 2 * to) % 3;
}
static int symmetric_count(int one, int other, int count) {
  return count_between(one < other ? one : other, one < other ? other : one, count);
}

/* Counts and displacements of blocks from (or to) all ranks, in reverse order and with gaps; returns the room
 * that they need. */
static int lay_out(int* counts, int* displacements) {
  int end = 2;
  for (int i = size_ - 1; i >= 0; --i) {
    displacements[i] = end;
    end += counts[i] + 1;
  }
  return end;
}

static void test_gatherv(const Kind* kind, int count, int in_place) {
  const char* what = in_place ? "Gatherv in place" : "Gatherv";
  int* counts = malloc(sizeof(int) * (size_t)size_);
  int* displacements = malloc(sizeof(int) * (size_t)size_);
  for (int root = 0; root < size_; ++root) {
    for (int from = 0; from < size_; ++from) counts[from] = count_between(from, root, count);
    const int room = lay_out(counts, displacements);
    unsigned char* all = allocate(kind, room);
    unsigned char* own = allocate(kind, counts[rank_]);
    fill(kind, own, counts[rank_], rank_, root);
    if (rank_ != root) {
      COLLECTIVE(Gatherv, gatherv, own, counts[rank_], kind->type, NULL, NULL, NULL, MPI_DATATYPE_NULL, root);
    } else {
      if (in_place) fill(kind, all + (size_t)displacements[rank_] * kind->extent, counts[rank_], rank_, root);
      COLLECTIVE(Gatherv, gatherv, in_place ? MPI_IN_PLACE : own, counts[rank_], kind->type, all, counts,
                 displacements, kind->type, root);
      for (int from = 0; from < size_; ++from)
        check_data(kind, all + (size_t)displacements[from] * kind->extent, counts[from], from, root, what);
    }
    check_filler(kind, all, room, what);
    free(own);
    free(all);
  }
  free(counts);
  free(displacements);
}

static void test_scatterv(const Kind* kind, int count, int in_place) {
  const char* what = in_place ? "Scatterv in place" : "Scatterv";
  int* counts = malloc(sizeof(int) * (size_t)size_);
  int* displacements = malloc(sizeof(int) * (size_t)size_);
  for (int root = 0; root < size_; ++root) {
    for (int to = 0; to < size_; ++to) counts[to] = count_between(root, to, count);
    const int room = lay_out(counts, displacements);
    unsigned char* all = allocate(kind, room);
    unsigned char* own = allocate(kind, counts[rank_]);
    if (rank_ == root) {
      for (int to = 0; to < size_; ++to)
        fill(kind, all + (size_t)displacements[to] * kind->extent, counts[to], root, to);
      COLLECTIVE(Scatterv, scatterv, all, counts, displacements, kind->type, in_place ? MPI_IN_PLACE : own,
                 counts[rank_], kind->type, root);
    } else {
      COLLECTIVE(Scatterv, scatterv, NULL, NULL, NULL, MPI_DATATYPE_NULL, own, counts[rank_], kind->type,
                 root);
    }
    if (rank_ != root || !in_place) check_data(kind, own, counts[rank_], root, rank_, what);
    check_filler(kind, own, counts[rank_], what);
    free(own);
    free(all);
  }
  free(counts);
  free(displacements);
}

static void test_allgatherv(const Kind* kind, int count, int in_place) {
  const char* what = in_place ? "Allgatherv in place" : "Allgatherv";
  int* counts = malloc(sizeof(int) * (size_t)size_);
  int* displacements = malloc(sizeof(int) * (size_t)size_);
  for (int from = 0; from < size_; ++from) counts[from] = count_between(from, 1, count);
  const int room = lay_out(counts, displacements);
  unsigned char* all = allocate(kind, room);
  unsigned char* own = allocate(kind, counts[rank_]);
  fill(kind, own, counts[rank_], rank_, 0);
  if (in_place) fill(kind, all + (size_t)displacements[rank_] * kind->extent, counts[rank_], rank_, 0);
  COLLECTIVE(Allgatherv, allgatherv, in_place ? MPI_IN_PLACE : own, counts[rank_], kind->type, all, counts,
             displacements, kind->type);
  for (int from = 0; from < size_; ++from)
    check_data(kind, all + (size_t)displacements[from] * kind->extent, counts[from], from, 0, what);
  check_filler(kind, all, room, what);
  free(own);
  free(all);
  free(counts);
  free(displacements);
}

static void test_alltoallv(const Kind* kind, int count, int in_place) {
  const char* what = in_place ? "Alltoallv in place" : "Alltoallv";
  int* numbers = malloc(sizeof(int) * 4 * (size_t)size_);
  int *out_counts = numbers, *out_displacements = numbers + size_;
  int *in_counts = numbers + 2 * size_, *in_displacements = numbers + 3 * size_;
  for (int other = 0; other < size_; ++other) {
    out_counts[other] = in_place ? symmetric_count(rank_, other, count) : count_between(rank_, other, count);
    in_counts[other] = in_place ? symmetric_count(rank_, other, count) : count_between(other, rank_, count);
  }
  const int out_room = lay_out(out_counts, out_displacements);
  const int in_room = lay_out(in_counts, in_displacements);
  unsigned char* out = allocate(kind, out_room);
  unsigned char* in = allocate(kind, in_room);
  for (int to = 0; to < size_; ++to)
    fill(kind, (in_place ? in : out) + (size_t)out_displacements[to] * kind->extent, out_counts[to], rank_,
         to);
  if (in_place) {
    COLLECTIVE(Alltoallv, alltoallv, MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, in, in_counts,
               in_displacements, kind->type);
  } else {
    COLLECTIVE(Alltoallv, alltoallv, out, out_counts, out_displacements, kind->type, in, in_counts,
               in_displacements, kind->type);
  }
  for (int from = 0; from < size_; ++from)
    check_data(kind, in + (size_t)in_displacements[from] * kind->extent, in_counts[from], from, rank_, what);
  check_filler(kind, in, in_room, what);
  free(out);
  free(in);
  free(numbers);
}

/* A type for each pair of ranks, in turn; displacements are in bytes. */
static void test_alltoallw(Kind* kinds, int count, int in_place) {
  const char* what = in_place ? "Alltoallw in place" : "Alltoallw";
  int* numbers = malloc(sizeof(int) * 2 * (size_t)size_);
  int *counts = numbers, *displacements = numbers + size_;
  MPI_Datatype* types = malloc(sizeof(MPI_Datatype) * (size_t)size_);
  const Kind** kind_of = malloc(sizeof(Kind*) * (size_t)size_);
  int end = 16;
  for (int other = 0; other < size_; ++other) {
    kind_of[other] = &kinds[(rank_ + other) % kKinds];
    types[other] = kind_of[other]->type;
    counts[other] = symmetric_count(rank_, other, count);
    displacements[other] = end;
    end += counts[other] * kind_of[other]->extent + 8;
  }
  const Kind whole = {"bytes", MPI_BYTE, 1, 1, 1, {0, 0}, {1, 0}};
  unsigned char* out = allocate(&whole, end);
  unsigned char* in = allocate(&whole, end);
  for (int to = 0; to < size_; ++to)
    fill(kind_of[to], (in_place ? in : out) + displacements[to], counts[to], rank_, to);
  if (in_place) {
    COLLECTIVE(Alltoallw, alltoallw, MPI_IN_PLACE, NULL, NULL, NULL, in, counts, displacements, types);
  } else {
    COLLECTIVE(Alltoallw, alltoallw, out, counts, displacements, types, in, counts, displacements, types);
  }
  for (int from = 0; from < size_; ++from)
    check_data(kind_of[from], in + displacements[from], counts[from], from, rank_, what);
  check_filler(&whole, in, end, what);
  free(out);
  free(in);
  free(numbers);
  free(types);
  free(kind_of);
}

static void barrier(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (form_ == kBlocking) MPI_Barrier(MPI_COMM_WORLD);
  if (form_ == kNonblocking) MPI_Ibarrier(MPI_COMM_WORLD, &request);
  if (form_ == kPersistent) MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  if (form_ != kBlocking) complete_form(&request);
}

/* No rank leaves a barrier before every rank has entered it. */
static void test_barrier(void) {
  double* left = malloc(sizeof(double) * (size_t)size_);
  for (int late = 0; late < size_; ++late) {
    if (rank_ == late) {
      const double until = now() + 0.002;
      while (now() < until) {
      }
    }
    double came = now();
    barrier();
    const double gone = now();
    COLLECTIVE(Bcast, bcast, &came, 1, MPI_DOUBLE, late);
    COLLECTIVE(Allgather, allgather, &gone, 1, MPI_DOUBLE, left, 1, MPI_DOUBLE);
    for (int rank = 0; rank < size_; ++rank)
      CHECK(left[rank] >= came, "rank %d left the barrier %g s before rank %d came", rank, came - left[rank],
            late);
  }
  free(left);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  choose_form(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  Kind kinds[kKinds];
  make_kinds(kinds);
  const int counts[] = {0, 1, 7, 1000, 100000};
  for (int i = 0; i < 5; ++i) {
    const int count = counts[i];
    for (int k = 0; k < kKinds; ++k) {
      const Kind* kind = &kinds[k];
      /* For long messages one plain and one gapped type are enough. */
      if (count > 1000 && k != 1 && k != 4) continue;
      test_bcast(kind, count);
      test_bcast_mixed(&kinds[5], count / 3);
      for (int in_place = 0; in_place < 2; ++in_place) {
        const int block = count > 1000 ? count / size_ : count;
        test_gather(kind, block, in_place);
        test_scatter(kind, block, in_place);
        test_allgather(kind, block, in_place);
        test_alltoall(kind, block, in_place);
        test_gatherv(kind, block, in_place);
        test_scatterv(kind, block, in_place);
        test_allgatherv(kind, block, in_place);
        test_alltoallv(kind, block, in_place);
      }
    }
    for (int in_place = 0; in_place < 2; ++in_place)
      test_alltoallw(kinds, count > 1000 ? 2000 : count, in_place);
  }
  test_barrier();
  free_kinds(kinds);
  MPI_Finalize();
  return 0;
}
