/* MPI_THREAD_MULTIPLE with eight threads per rank. First each thread goes through all kinds of calls on its
 * own communicator, starting with a different kind, so that different kinds run concurrently. Then the
 * threads share: requests that another thread completes, messages that any thread may receive, communicators
 * that are created concurrently. stress [rounds] */
#include <pthread.h>

#include "crew.h"

enum { threads = 8, length_max = 3000, shares = 60, tag_share = 77 };

static MPI_Comm own[threads];
static int rounds = 6;

static int sample(int thread, int round, int from, int i) {
  return (thread * 1000 + round) * 64 + from + i * 7;
}

static void ring(int thread, int round) {
  const int length = round % 3 == 0 ? length_max : round + 1;
  const int next = (rank_ + 1) % size_, before = (rank_ + size_ - 1) % size_;
  int* out = malloc(length_max * sizeof(int));
  int* in = malloc(length_max * sizeof(int));
  for (int i = 0; i < length; ++i) out[i] = sample(thread, round, rank_, i);
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Irecv(in, length_max, MPI_INT, before, round, own[thread], &requests[0]);
  MPI_Isend(out, length, MPI_INT, next, round, own[thread], &requests[1]);
  MPI_Waitall(2, requests, statuses);
  int count = -1;
  MPI_Get_count(&statuses[0], MPI_INT, &count);
  CHECK(count == length && statuses[0].MPI_SOURCE == before, "thread %d got %d numbers from %d", thread,
        count, statuses[0].MPI_SOURCE);
  for (int i = 0; i < length; ++i)
    CHECK(in[i] == sample(thread, round, before, i), "thread %d round %d: number %d is %d", thread, round, i,
          in[i]);
  free(in);
  free(out);
}

/* A message from every rank; only the probe returns its length. */
static void probe(int thread, int round) {
  MPI_Request* sends = malloc((size_t)size_ * sizeof *sends);
  int values[8];
  for (int i = 0; i < 8; ++i) values[i] = sample(thread, round, rank_, i);
  for (int to = 0; to < size_; ++to)
    MPI_Isend(values, (rank_ + to) % 8 + 1, MPI_INT, to, round, own[thread], &sends[to]);
  for (int n = 0; n < size_; ++n) {
    MPI_Status status;
    int count, in[8];
    if (n % 2 == 0) {
      MPI_Probe(MPI_ANY_SOURCE, round, own[thread], &status);
      MPI_Get_count(&status, MPI_INT, &count);
      MPI_Recv(in, count, MPI_INT, status.MPI_SOURCE, round, own[thread], MPI_STATUS_IGNORE);
    } else {
      MPI_Message message;
      int flag = 0;
      while (!flag) MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, own[thread], &flag, &message, &status);
      MPI_Get_count(&status, MPI_INT, &count);
      MPI_Mrecv(in, count, MPI_INT, &message, MPI_STATUS_IGNORE);
    }
    const int from = status.MPI_SOURCE;
    CHECK(count == (from + rank_) % 8 + 1, "thread %d probed %d numbers from %d", thread, count, from);
    for (int i = 0; i < count; ++i)
      CHECK(in[i] == sample(thread, round, from, i), "thread %d: number %d from %d is %d", thread, i, from,
            in[i]);
  }
  MPI_Waitall(size_, sends, MPI_STATUSES_IGNORE);
  free(sends);
}

static void collect(int thread, int round) {
  const int mine = sample(thread, round, rank_, 0), root = (thread + round) % size_;
  int sum = 0, expected = 0, word = rank_ == root ? mine : -1;
  int* all = malloc((size_t)size_ * sizeof(int));
  int* dealt = malloc((size_t)size_ * sizeof(int));
  for (int r = 0; r < size_; ++r) expected += sample(thread, round, r, 0);
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, own[thread]);
  CHECK(sum == expected, "thread %d: sum %d, not %d", thread, sum, expected);
  MPI_Bcast(&word, 1, MPI_INT, root, own[thread]);
  CHECK(word == sample(thread, round, root, 0), "thread %d: broadcast of %d", thread, word);
  MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, own[thread]);
  MPI_Alltoall(all, 1, MPI_INT, dealt, 1, MPI_INT, own[thread]);
  MPI_Barrier(own[thread]);
  for (int r = 0; r < size_; ++r) {
    CHECK(all[r] == sample(thread, round, r, 0), "thread %d: %d gathered from %d", thread, all[r], r);
    CHECK(dealt[r] == mine, "thread %d: %d dealt by %d", thread, dealt[r], r);
  }
  free(dealt);
  free(all);
}

/* Counts the ranks of `comm` and checks that all ranks have the same value. */
static void use(MPI_Comm comm, int value, const char* what) {
  int size = 0, least = 0, most = 0, one = 1, total = 0;
  MPI_Comm_size(comm, &size);
  MPI_Allreduce(&one, &total, 1, MPI_INT, MPI_SUM, comm);
  MPI_Allreduce(&value, &least, 1, MPI_INT, MPI_MIN, comm);
  MPI_Allreduce(&value, &most, 1, MPI_INT, MPI_MAX, comm);
  CHECK(total == size, "%s: %d ranks took part, not %d", what, total, size);
  CHECK(least == value && most == value, "%s: another's message: %d, %d, %d", what, least, value, most);
}

static void make_communicators(int thread, int round) {
  MPI_Comm copy, half;
  MPI_Comm_dup(own[thread], &copy);
  MPI_Comm_split(own[thread], rank_ % 2, -rank_, &half);
  use(copy, thread * 1000 + round, "copy");
  use(half, thread * 1000 + round + rank_ % 2 * 500, "half");
  MPI_Comm_free(&copy);
  MPI_Comm_free(&half);
}

static int on_copy(MPI_Comm comm, int key, void* extra, void* value, void* out, int* flag) {
  (void)comm, (void)key, (void)extra;
  *(void**)out = value;
  *flag = 1;
  return MPI_SUCCESS;
}

static int on_delete(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value;
  ++*(int*)extra;
  return MPI_SUCCESS;
}

static void attach_attributes(int thread, int round) {
  int deleted = 0, mark = round, key, found = 0;
  void* value = NULL;
  MPI_Comm copy, second;
  MPI_Comm_create_keyval(on_copy, on_delete, &key, &deleted);
  MPI_Comm_dup(own[thread], &copy);
  MPI_Comm_set_attr(copy, key, &mark);
  MPI_Comm_dup(copy, &second);
  MPI_Comm_get_attr(second, key, &value, &found);
  CHECK(found && value == &mark, "thread %d: the copy lacks the attribute", thread);
  MPI_Comm_free(&second);
  MPI_Comm_free(&copy);
  CHECK(deleted == 2, "thread %d: %d attributes deleted, not 2", thread, deleted);
  MPI_Comm_free_keyval(&key);
}

static void make_types(int thread, int round) {
  const int next = (rank_ + 1) % size_, before = (rank_ + size_ - 1) % size_;
  MPI_Datatype pair, pairs;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_contiguous(5, pair, &pairs);
  MPI_Type_commit(&pairs);
  MPI_Type_free(&pair);
  int out[10], in[10], size = 0;
  for (int i = 0; i < 10; ++i) out[i] = sample(thread, round, rank_, i);
  MPI_Type_size(pairs, &size);
  CHECK(size == 10 * (int)sizeof(int), "thread %d: a type of %d bytes", thread, size);
  MPI_Sendrecv(out, 1, pairs, next, 5, in, 1, pairs, before, 5, own[thread], MPI_STATUS_IGNORE);
  for (int i = 0; i < 10; ++i)
    CHECK(in[i] == sample(thread, round, before, i), "thread %d: number %d is %d", thread, i, in[i]);
  MPI_Type_free(&pairs);
}

static void go_through(int thread) {
  static void (*const kinds[])(int, int) = {ring,      probe, collect, make_communicators, attach_attributes,
                                            make_types};
  const int count = (int)(sizeof kinds / sizeof *kinds);
  for (int round = 0; round < rounds; ++round)
    for (int i = 0; i < count; ++i) kinds[(thread + i) % count](thread, round);
}

/* Each thread starts a receive and a send and gives both to its neighbour, which completes them. */
struct errand {
  pthread_mutex_t lock;
  pthread_cond_t news;
  MPI_Request requests[2];
  int full, in;
};
static struct errand errands[threads];

static void complete_for_others(int thread) {
  const int next = (rank_ + 1) % size_, before = (rank_ + size_ - 1) % size_;
  const int other = (thread + 1) % threads;
  for (int round = 0; round < 10 * rounds; ++round) {
    struct errand* mine = &errands[thread];
    int out = sample(thread, round, rank_, 0);
    pthread_mutex_lock(&mine->lock);
    MPI_Irecv(&mine->in, 1, MPI_INT, before, thread, MPI_COMM_WORLD, &mine->requests[0]);
    MPI_Isend(&out, 1, MPI_INT, next, thread, MPI_COMM_WORLD, &mine->requests[1]);
    mine->full = 1;
    pthread_cond_broadcast(&mine->news);
    pthread_mutex_unlock(&mine->lock);

    struct errand* theirs = &errands[other];
    pthread_mutex_lock(&theirs->lock);
    while (!theirs->full) pthread_cond_wait(&theirs->news, &theirs->lock);
    if (round % 3 == 0) {
      MPI_Waitall(2, theirs->requests, MPI_STATUSES_IGNORE);
    } else if (round % 3 == 1) {
      for (int i = 0, which; i < 2; ++i) MPI_Waitany(2, theirs->requests, &which, MPI_STATUS_IGNORE);
    } else {
      int done = 0;
      while (!done) MPI_Testall(2, theirs->requests, &done, MPI_STATUSES_IGNORE);
    }
    CHECK(theirs->in == sample(other, round, before, 0), "thread %d completed %d", thread, theirs->in);
    theirs->full = 0;
    pthread_cond_broadcast(&theirs->news);
    pthread_mutex_unlock(&theirs->lock);

    /* `out` must live until the neighbour has completed the send. */
    pthread_mutex_lock(&mine->lock);
    while (mine->full) pthread_cond_wait(&mine->news, &mine->lock);
    pthread_mutex_unlock(&mine->lock);
  }
}

/* Every rank receives as many messages as it sends, in any thread: all arrive, none twice. Sends are
 * completed at the end only: if all threads of a rank waited for their sends, none would receive. */
static pthread_mutex_t sum_lock = PTHREAD_MUTEX_INITIALIZER;
static long sum_taken;

static void share(int thread) {
  const int sends = shares * size_;
  long sum = 0;
  long(*out)[4] = malloc((size_t)sends * sizeof *out);
  MPI_Request* requests = malloc((size_t)sends * sizeof *requests);
  for (int i = 0; i < sends; ++i) {
    const long value = ((long)rank_ * threads + thread) * sends + i;
    long in[4] = {-1, -1, -1, -1};
    MPI_Message message;
    MPI_Status status;
    int count = 0;
    for (int k = 0; k < 4; ++k) out[i][k] = value;
    MPI_Isend(out[i], i % 4 + 1, MPI_LONG, (rank_ + i) % size_, tag_share + i % 3, MPI_COMM_WORLD,
              &requests[i]);
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
    MPI_Get_count(&status, MPI_LONG, &count);
    MPI_Mrecv(in, count, MPI_LONG, &message, &status);
    for (int k = 1; k < count; ++k) CHECK(in[k] == in[0], "torn message: %ld beside %ld", in[k], in[0]);
    CHECK(count == in[0] % sends % 4 + 1, "message %ld has %d numbers", in[0], count);
    CHECK(status.MPI_SOURCE == in[0] / sends / threads, "%ld is not from %d", in[0], status.MPI_SOURCE);
    sum += in[0];
  }
  MPI_Waitall(sends, requests, MPI_STATUSES_IGNORE);
  free(requests);
  free(out);
  pthread_mutex_lock(&sum_lock);
  sum_taken += sum;
  pthread_mutex_unlock(&sum_lock);
}

/* Concurrently on one communicator: the tag identifies the thread (MPI 5.0 section 7.4.2). */
static void make_side_by_side(int thread) {
  MPI_Group world;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm made;
    MPI_Comm_create_group(MPI_COMM_WORLD, world, thread, &made);
    use(made, thread * 100 + round, "made by group");
    MPI_Comm_free(&made);
  }
  MPI_Group_free(&world);
}

int main(int argc, char** argv) {
  crew_init(&argc, &argv);
  if (argc > 1) rounds = atoi(argv[1]);
  for (int i = 0; i < threads; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
    pthread_mutex_init(&errands[i].lock, NULL);
    pthread_cond_init(&errands[i].news, NULL);
  }
  crew_run(threads, go_through);
  crew_run(threads, complete_for_others);
  MPI_Barrier(MPI_COMM_WORLD); /* the messages that follow have any tag */
  crew_run(threads, share);
  long total = 0;
  MPI_Allreduce(&sum_taken, &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  const long count = (long)size_ * threads * shares * size_;
  CHECK(total == count * (count - 1) / 2, "the messages add up to %ld, not %ld", total,
        count * (count - 1) / 2);
  crew_run(threads, make_side_by_side);
  for (int i = 0; i < threads; ++i) MPI_Comm_free(&own[i]);
  MPI_Finalize();
  return 0;
}
