/* Collectives on intercommunicators: each group receives the other group's data. Words encode their
 * writer. */
#include "forms.h"

static MPI_Comm inter_;
static int others_, side_; /* size of the remote group; the local group, 0 or 1 */
static int own_rank_, own_size_;

static int word(int side, int from, int to, int index) {
  return ((side * 61 + from) * 61 + to) * 4001 + index;
}

static int* words(long count) {
  int* all = malloc(sizeof(int) * (size_t)(count + 1));
  CHECK(all != NULL, "no memory");
  for (long i = 0; i <= count; ++i) all[i] = -1;
  return all;
}

static void check_words(const int* all, int count, int side, int from, int to, const char* what) {
  for (int i = 0; i < count; ++i)
    CHECK(all[i] == word(side, from, to, i), "%s: word %d from rank %d of group %d is %d", what, i, from,
          side, all[i]);
}

/* Checks that the word behind the data is unchanged. */
static void check_end(const int* all, long count, const char* what) {
  CHECK(all[count] == -1, "%s: more was written", what);
}

/* The root argument of this rank if the root is rank `root` of group `group`. */
static int root_argument(int group, int root) {
  if (side_ != group) return root;
  return own_rank_ == root ? MPI_ROOT : MPI_PROC_NULL;
}

static void test_rooted(int count, int group, int root) {
  const int argument = root_argument(group, root);
  const int is_root = argument == MPI_ROOT;
  const int gets = side_ != group;
  int* own = words(count);
  int* all = words((long)count * others_);

  for (int i = 0; i < count && is_root; ++i) own[i] = word(group, root, 0, i);
  /* At MPI_PROC_NULL the count is not significant (MPI 5.0 sections 6.4, 6.9.1). With a count of 0, MPICH
   * 5.0.2 and Open MPI 5.0.11 skip the operation there and match it with the next one. */
  const int idle_count = promised() ? 0 : count;
  if (argument == MPI_PROC_NULL) {
    COLLECTIVE_ON(inter_, Bcast, bcast, promised() ? NULL : own, idle_count, MPI_INT, argument);
  } else {
    COLLECTIVE_ON(inter_, Bcast, bcast, own, count, MPI_INT, argument);
  }
  if (gets || is_root) check_words(own, count, group, root, 0, "Bcast");
  check_end(own, count, "Bcast");

  /* To the root and back. */
  for (int i = 0; i < count; ++i) own[i] = word(side_, own_rank_, root, i);
  if (is_root) {
    COLLECTIVE_ON(inter_, Gather, gather, NULL, 0, MPI_INT, all, count, MPI_INT, argument);
    for (int from = 0; from < others_; ++from)
      check_words(all + (long)from * count, count, !group, from, root, "Gather");
  } else {
    COLLECTIVE_ON(inter_, Gather, gather, own, count, MPI_INT, NULL, 0, MPI_INT, argument);
  }
  check_end(all, (long)count * others_, "Gather");
  for (int i = 0; i < count; ++i) own[i] = -1;
  if (is_root) {
    COLLECTIVE_ON(inter_, Scatter, scatter, all, count, MPI_INT, NULL, 0, MPI_INT, argument);
  } else {
    COLLECTIVE_ON(inter_, Scatter, scatter, NULL, 0, MPI_INT, own, count, MPI_INT, argument);
  }
  if (gets) check_words(own, count, side_, own_rank_, root, "Scatter");
  check_end(own, count, "Scatter");

  /* Rank r has count + r words; the root stores them with gaps. */
  int* counts = malloc(sizeof(int) * (size_t)others_);
  int* displacements = malloc(sizeof(int) * (size_t)others_);
  int end = 1;
  for (int rank = 0; rank < others_; ++rank) {
    counts[rank] = count + rank;
    displacements[rank] = end;
    end += counts[rank] + 2;
  }
  int* spread = words(end);
  const int mine = gets ? count + own_rank_ : 0;
  int* longer = words(mine);
  for (int i = 0; i < mine; ++i) longer[i] = word(side_, own_rank_, root, i);
  if (is_root) {
    COLLECTIVE_ON(inter_, Gatherv, gatherv, NULL, 0, MPI_INT, spread, counts, displacements, MPI_INT,
                  argument);
    for (int from = 0; from < others_; ++from)
      check_words(spread + displacements[from], counts[from], !group, from, root, "Gatherv");
    for (int from = 0; from < others_; ++from)
      check_end(spread + displacements[from], counts[from], "Gatherv");
    COLLECTIVE_ON(inter_, Scatterv, scatterv, spread, counts, displacements, MPI_INT, NULL, 0, MPI_INT,
                  argument);
  } else {
    COLLECTIVE_ON(inter_, Gatherv, gatherv, longer, mine, MPI_INT, NULL, NULL, NULL, MPI_INT, argument);
    for (int i = 0; i < mine; ++i) longer[i] = -1;
    COLLECTIVE_ON(inter_, Scatterv, scatterv, NULL, NULL, NULL, MPI_INT, longer, mine, MPI_INT, argument);
  }
  check_words(longer, mine, side_, own_rank_, root, "Scatterv");

  for (int i = 0; i < count; ++i) own[i] = own_rank_ + 1 + i;
  if (is_root) {
    COLLECTIVE_ON(inter_, Reduce, reduce, NULL, all, count, MPI_INT, MPI_SUM, argument);
    for (int i = 0; i < count; ++i)
      CHECK(all[i] == others_ * (others_ + 1) / 2 + others_ * i, "Reduce: word %d is %d", i, all[i]);
  } else if (gets) {
    COLLECTIVE_ON(inter_, Reduce, reduce, own, NULL, count, MPI_INT, MPI_SUM, argument);
  } else {
    COLLECTIVE_ON(inter_, Reduce, reduce, NULL, NULL, idle_count, MPI_INT, MPI_SUM, argument);
  }
  free(own);
  free(all);
  free(counts);
  free(displacements);
  free(spread);
  free(longer);
}

static void test_all_to_all(int count) {
  /* Group 0 sends count words to each remote rank, group 1 count + 1. */
  const int gives = count + side_, gets = count + !side_;
  int* own = words(gives);
  int* out = words((long)gives * others_);
  int* in = words((long)gets * others_);
  for (int i = 0; i < gives; ++i) own[i] = word(side_, own_rank_, 0, i);
  COLLECTIVE_ON(inter_, Allgather, allgather, own, gives, MPI_INT, in, gets, MPI_INT);
  for (int from = 0; from < others_; ++from)
    for (int i = 0; i < gets; ++i)
      CHECK(in[(long)from * gets + i] == word(!side_, from, 0, i), "Allgather: word %d from %d", i, from);
  for (int to = 0; to < others_; ++to)
    for (int i = 0; i < gives; ++i) out[(long)to * gives + i] = word(side_, own_rank_, to, i);
  COLLECTIVE_ON(inter_, Alltoall, alltoall, out, gives, MPI_INT, in, gets, MPI_INT);
  for (int from = 0; from < others_; ++from)
    for (int i = 0; i < gets; ++i)
      CHECK(in[(long)from * gets + i] == word(!side_, from, own_rank_, i), "Alltoall: word %d from %d", i,
            from);

  /* Vector variants. The number of words from one rank to another is derived from the sum of their ranks. */
  int* out_counts = malloc(sizeof(int) * 4 * (size_t)others_);
  int* out_at = out_counts + others_;
  int* in_counts = out_at + others_;
  int* in_at = in_counts + others_;
  MPI_Datatype* types = malloc(sizeof(MPI_Datatype) * (size_t)others_);
  int out_end = 0, in_end = 3;
  for (int rank = 0; rank < others_; ++rank) {
    out_counts[rank] = in_counts[rank] = count + (own_rank_ + rank) % 3 - (count > 0);
    out_at[rank] = out_end;
    in_at[rank] = in_end;
    out_end += out_counts[rank];
    in_end += in_counts[rank] + 1;
    types[rank] = MPI_INT;
  }
  int* out_words = words(out_end);
  int* in_words = words(in_end);
  for (int to = 0; to < others_; ++to)
    for (int i = 0; i < out_counts[to]; ++i) out_words[out_at[to] + i] = word(side_, own_rank_, to, i);
  COLLECTIVE_ON(inter_, Alltoallv, alltoallv, out_words, out_counts, out_at, MPI_INT, in_words, in_counts,
                in_at, MPI_INT);
  for (int from = 0; from < others_; ++from) {
    check_words(in_words + in_at[from], in_counts[from], !side_, from, own_rank_, "Alltoallv");
    check_end(in_words + in_at[from], in_counts[from], "Alltoallv");
    for (int i = 0; i < in_counts[from]; ++i) in_words[in_at[from] + i] = -1;
  }
  for (int rank = 0; rank < 2 * others_; ++rank) {
    int* at = rank < others_ ? &out_at[rank] : &in_at[rank - others_];
    *at *= (int)sizeof(int);
  }
  COLLECTIVE_ON(inter_, Alltoallw, alltoallw, out_words, out_counts, out_at, types, in_words, in_counts,
                in_at, types);
  for (int from = 0; from < others_; ++from)
    check_words(in_words + in_at[from] / (int)sizeof(int), in_counts[from], !side_, from, own_rank_,
                "Alltoallw");

  int total = 0;
  for (int from = 0; from < others_; ++from) {
    in_counts[from] = count + from % 2;
    in_at[from] = total;
    total += in_counts[from];
  }
  int* gathered = words(total);
  const int mine = count + own_rank_ % 2;
  int* own_words = words(mine);
  for (int i = 0; i < mine; ++i) own_words[i] = word(side_, own_rank_, 7, i);
  COLLECTIVE_ON(inter_, Allgatherv, allgatherv, own_words, mine, MPI_INT, gathered, in_counts, in_at,
                MPI_INT);
  for (int from = 0; from < others_; ++from)
    for (int i = 0; i < in_counts[from]; ++i)
      CHECK(gathered[in_at[from] + i] == word(!side_, from, 7, i), "Allgatherv: word %d from %d", i, from);
  free(gathered);
  free(own_words);
  free(out_words);
  free(in_words);
  free(types);
  free(out_counts);
  free(own);
  free(out);
  free(in);
}

static void test_reductions(int count) {
  int* own = words(count);
  int* result = words(count);
  for (int i = 0; i < count; ++i) own[i] = (own_rank_ + 1) * (side_ + 1) + i;
  COLLECTIVE_ON(inter_, Allreduce, allreduce, own, result, count, MPI_INT, MPI_SUM);
  for (int i = 0; i < count; ++i)
    CHECK(result[i] == others_ * (others_ + 1) / 2 * (!side_ + 1) + others_ * i, "Allreduce: word %d is %d",
          i, result[i]);
  free(own);
  free(result);

  /* A number of words that both groups can divide evenly. */
  const int total = count * own_size_ * others_;
  own = words(total);
  result = words(total);
  for (int i = 0; i < total; ++i) own[i] = own_rank_ + i;
  const int each = count * others_;
  COLLECTIVE_ON(inter_, Reduce_scatter_block, reduce_scatter_block, own, result, each, MPI_INT, MPI_SUM);
  for (int i = 0; i < each; ++i)
    CHECK(result[i] == others_ * (others_ - 1) / 2 + others_ * (own_rank_ * each + i),
          "Reduce_scatter_block: word %d is %d", i, result[i]);
  int* counts = malloc(sizeof(int) * (size_t)own_size_);
  for (int rank = 0; rank < own_size_; ++rank) counts[rank] = 0;
  for (int i = 0; i < total; ++i) ++counts[(i * 3) % 5 % own_size_];
  int begin = 0;
  for (int rank = 0; rank < own_rank_; ++rank) begin += counts[rank];
  COLLECTIVE_ON(inter_, Reduce_scatter, reduce_scatter, own, result, counts, MPI_INT, MPI_SUM);
  for (int i = 0; i < counts[own_rank_]; ++i)
    CHECK(result[i] == others_ * (others_ - 1) / 2 + others_ * (begin + i), "Reduce_scatter: word %d is %d",
          i, result[i]);
  free(counts);
  free(own);
  free(result);
}

/* No rank leaves before all ranks of the remote group have entered; ranks of the local group may be late (MPI
 * 5.0 section 6.3). `first`: the first rank of MPI_COMM_WORLD in group 1. */
static void test_barrier(int first) {
  for (int late = 0; late < size_; ++late) {
    if (rank_ == late) {
      const double until = now() + 0.002;
      while (now() < until) {
      }
    }
    double came = now();
    MPI_Request request;
    switch (form_) {
      case kBlocking:
        MPI_Barrier(inter_);
        break;
      case kNonblocking:
        MPI_Ibarrier(inter_, &request);
        break;
      case kPersistent:
        MPI_Barrier_init(inter_, MPI_INFO_NULL, &request);
    }
    if (form_ != kBlocking) complete_form(&request);
    const double left = now();
    MPI_Bcast(&came, 1, MPI_DOUBLE, late, MPI_COMM_WORLD);
    const int other = (late >= first) != side_;
    CHECK(!other || left >= came, "left the barrier %g s before rank %d came", came - left, late);
  }
}

/* The first `first` ranks are one group, the rest the other. */
static void test_split(int first) {
  MPI_Comm own;
  side_ = rank_ >= first;
  MPI_Comm_split(MPI_COMM_WORLD, side_, 0, &own);
  MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, side_ ? 0 : first, 5, &inter_);
  MPI_Comm_free(&own);
  MPI_Comm_rank(inter_, &own_rank_);
  MPI_Comm_size(inter_, &own_size_);
  MPI_Comm_remote_size(inter_, &others_);
  test_barrier(first);
  const int counts[] = {0, 1, 3, 2000};
  for (int c = 0; c < 4; ++c) {
    for (int group = 0; group < 2; ++group) {
      const int roots = group ? size_ - first : first;
      test_rooted(counts[c], group, 0);
      test_rooted(counts[c], group, roots - 1);
    }
    test_all_to_all(counts[c]);
    test_reductions(counts[c]);
  }
  MPI_Comm_free(&inter_);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  choose_form(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  test_split(1);
  if (size_ > 2) test_split(size_ / 2);
  if (size_ > 3) test_split(size_ - 1);
  MPI_Finalize();
  return 0;
}
