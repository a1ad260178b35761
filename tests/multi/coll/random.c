/* Random collectives, several of them in flight, on communicators of all kinds, compared with a plain
 * computation. All ranks draw the same plan, which depends only on a seed and the round, so that a single
 * round can be repeated.
 *
 *   random ROUNDS KIB      KIB: the most that a rank has in one buffer
 *
 *   COLL_SEED=N|clock      another plan than the default one
 *   COLL_ROUND=N           this round only
 *   COLL_ONLY=allreduce    this collective only
 *   COLL_SECONDS=N         rounds for this time
 *   COLL_MPI_MEMORY=N      N of 100 buffers come from MPI_Alloc_mem (default 30)
 *   COLL_SPAWN=N           the job starts N processes that take part, by MPI_Comm_spawn
 *   COLL_VERBOSE=1         the first rank of its communicator describes each call */
#include "random_calls.h"

enum { kCallsMax = 6, kBatches = 3 };

static uint64_t seed_;
static int round_, verbose_;
static long bytes_max_;
static const char* only_;
static MPI_Op users_[2];

static const Layout* layout_named(MPI_Datatype type) {
  for (int i = 0; i < kLiveMax; ++i)
    if (live_[i] != NULL && live_[i]->handle == type) return live_[i];
  CHECK(0, "%s: a user's operation was given another datatype", context_);
  return NULL;
}

static void apply(void* in, void* inout, int count, MPI_Datatype type,
                  uint64_t (*function)(uint64_t, uint64_t)) {
  const Layout* layout = layout_named(type);
  for (long i = 0; i < (long)count * layout->parts; ++i) {
    const long at = i / layout->parts * layout->extent + layout->at[i % layout->parts];
    uint64_t first, then;
    memcpy(&first, (char*)in + at, sizeof first);
    memcpy(&then, (char*)inout + at, sizeof then);
    then = function(first, then);
    memcpy((char*)inout + at, &then, sizeof then);
  }
}
static void apply_any_order(void* in, void* inout, int* count, MPI_Datatype* type) {
  apply(in, inout, *count, *type, sum_and_minimum);
}
static void apply_in_order(void* in, void* inout, int* count, MPI_Datatype* type) {
  apply(in, inout, *count, *type, chain);
}

#define LAUNCH(name, lower, ...)                                                            \
  do {                                                                                      \
    if (form == kBlocking) MPI_##name(__VA_ARGS__);                                         \
    if (form == kNonblocking) MPI_I##lower(__VA_ARGS__, &call->request);                    \
    if (form == kPersistent) MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &call->request); \
  } while (0)

/* Makes the call, or creates its persistent request. Arguments that are not significant on this rank are
 * garbage. */
static void launch(Call* call) {
  const Form form = call->form;
  const MPI_Comm comm = call->group->comm;
  const int root = is_root(call), beside = is_beside_root(call);
  const int in_place = call->in_place && (root || !has_root(call));
  const int root_argument = beside ? call->root : root ? MPI_ROOT : MPI_PROC_NULL;
  const int has_send = call->send.memory != NULL, has_receive = call->receive.memory != NULL;
  void* send = has_send ? call->send.base : NULL;
  void* receive = has_receive ? call->receive.base : NULL;
  const int* send_counts = call->send.counts;
  const int* send_places = call->send.places;
  const int* counts = call->receive.counts;
  const int* places = call->receive.places;
  const int send_count = has_send ? send_counts[0] : 3, count = has_receive ? counts[0] : 5;
  const MPI_Datatype send_type = has_send ? call->send.layouts[0].handle : MPI_BYTE;
  const MPI_Datatype type = has_receive ? call->receive.layouts[0].handle : MPI_BYTE;
  const MPI_Op op = operation_handle(call->operation, users_);
  if (in_place && !(call->collective == kScatter || call->collective == kScatterv)) send = MPI_IN_PLACE;
  if (in_place && (call->collective == kScatter || call->collective == kScatterv)) receive = MPI_IN_PLACE;
  switch (call->collective) {
    case kBarrier:
      LAUNCH(Barrier, barrier, comm);
      break;
    case kBcast:
      LAUNCH(Bcast, bcast, receive, count, type, root_argument, comm);
      break;
    case kGather:
      LAUNCH(Gather, gather, send, send_count, send_type, receive, count, type, root_argument, comm);
      break;
    case kGatherv:
      LAUNCH(Gatherv, gatherv, send, send_count, send_type, receive, counts, places, type, root_argument,
             comm);
      break;
    case kScatter:
      LAUNCH(Scatter, scatter, send, send_count, send_type, receive, count, type, root_argument, comm);
      break;
    case kScatterv:
      LAUNCH(Scatterv, scatterv, send, send_counts, send_places, send_type, receive, count, type,
             root_argument, comm);
      break;
    case kAllgather:
      LAUNCH(Allgather, allgather, send, send_count, send_type, receive, count, type, comm);
      break;
    case kAllgatherv:
      LAUNCH(Allgatherv, allgatherv, send, send_count, send_type, receive, counts, places, type, comm);
      break;
    case kAlltoall:
      LAUNCH(Alltoall, alltoall, send, send_count, send_type, receive, count, type, comm);
      break;
    case kAlltoallv:
      LAUNCH(Alltoallv, alltoallv, send, send_counts, send_places, send_type, receive, counts, places, type,
             comm);
      break;
    case kAlltoallw:
      LAUNCH(Alltoallw, alltoallw, send, send_counts, send_places, call->send_types, receive, counts, places,
             call->receive_types, comm);
      break;
    case kReduce:
      LAUNCH(Reduce, reduce, send, receive, has_send ? send_count : count, has_send ? send_type : type, op,
             root_argument, comm);
      break;
    case kAllreduce:
      LAUNCH(Allreduce, allreduce, send, receive, count, type, op, comm);
      break;
    case kReduceScatterBlock:
      LAUNCH(Reduce_scatter_block, reduce_scatter_block, send, receive,
             (int)(part_length(call, call->group->rank) / call->receive.layouts[0].parts), type, op, comm);
      break;
    case kReduceScatter:
      LAUNCH(Reduce_scatter, reduce_scatter, send, receive, call->counts, type, op, comm);
      break;
    case kScan:
      LAUNCH(Scan, scan, send, receive, count, type, op, comm);
      break;
    default:
      LAUNCH(Exscan, exscan, send, receive, count, type, op, comm);
  }
}

static void shuffle(Stream* stream, Call** calls, int count) {
  for (int i = count - 1; i > 0; --i) {
    const long other = draw(stream, i + 1);
    Call* kept = calls[i];
    calls[i] = calls[other];
    calls[other] = kept;
  }
}

/* Completes the requests of calls in flight, by one of the many possible ways. */
static void complete(Stream* own, Call** calls, int count) {
  MPI_Request requests[kCallsMax];
  int indices[kCallsMax], done = 0, index, left = count;
  shuffle(own, calls, count);
  for (int i = 0; i < count; ++i) requests[i] = calls[i]->request;
  switch (draw(own, promised() ? 5 : 4)) { /* MPICH 5.0.2's MPI_Testall fails on persistent collectives */
    case 0:
      MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
      break;
    case 1:
      for (int i = 0; i < count; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
      break;
    case 2:
      for (int i = 0; i < count; ++i) {
        MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
        CHECK(index >= 0 && index < count, "MPI_Waitany gave %d", index);
      }
      break;
    case 3:
      while (left > 0) {
        MPI_Testsome(count, requests, &done, indices, MPI_STATUSES_IGNORE);
        CHECK(done != MPI_UNDEFINED, "MPI_Testsome sees no active request where %d are", left);
        left -= done;
      }
      break;
    default:
      while (count > 0 && !done) MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE);
  }
  for (int i = 0; i < count; ++i) calls[i]->request = requests[i];
}

static const char* where(int call) {
  static char text[128];
  snprintf(text, sizeof text, "COLL_SEED=%llu COLL_ROUND=%d, call %d", (unsigned long long)seed_, round_,
           call);
  return text;
}

/* Some calls, made in one order by all ranks; persistent ones are started in each rank's own order. */
static void run_batch(Stream* stream, Group groups[2], int is_last) {
  Call calls[kCallsMax], *persistent[kCallsMax], *open[kCallsMax];
  const int count = 1 + (int)draw(stream, kCallsMax), frees_early = is_last && chance(stream, 40);
  Stream own = {hash_of(draw_word(stream), rank_, 0, 5), 0};
  int persistents = 0, opens = 0, started = 0;
  for (int i = 0; i < count; ++i) {
    Call* call = &calls[i];
    *call = draw_call(stream, &groups[draw(stream, 2)], only_, bytes_max_);
    if (frees_early) call->turns = 1;
    if (call->group->comm == MPI_COMM_NULL) continue;
    open_call(call);
    fill_call(call, 0);
    if (call->form != kPersistent) continue;
    describe(call, where(i));
    launch(call);
    persistent[persistents++] = call;
  }
  shuffle(&own, persistent, persistents);
  for (int i = 0; i < count; ++i) {
    Call* call = &calls[i];
    if (call->group->comm == MPI_COMM_NULL) continue;
    while (started < persistents && chance(&own, 30)) MPI_Start(&persistent[started++]->request);
    describe(call, where(i));
    if (verbose_ && call->group->rank == 0) fprintf(stderr, "rank %d: %s\n", rank_, context_);
    if (call->form != kPersistent) launch(call);
    if (call->form == kNonblocking) open[opens++] = call;
  }
  while (started < persistents) MPI_Start(&persistent[started++]->request);
  if (frees_early) {
    /* Calls in flight continue without the handle of their communicator (MPI 5.0 section 7.4.3). */
    for (int i = 0; i < 2; ++i)
      if (groups[i].comm != all_ && groups[i].comm != MPI_COMM_NULL) MPI_Comm_free(&groups[i].comm);
  }
  for (int i = 0; i < persistents; ++i) open[opens++] = persistent[i];
  complete(&own, open, opens);
  for (int i = 0; i < count; ++i) {
    if (calls[i].members == NULL || calls[i].peers == 0) continue;
    describe(&calls[i], where(i));
    check_call(&calls[i]);
  }
  for (int turn = 1; turn < 3; ++turn) {
    opens = 0;
    for (int i = 0; i < persistents; ++i) {
      if (persistent[i]->turns <= turn) continue;
      fill_call(persistent[i], turn);
      open[opens++] = persistent[i];
    }
    shuffle(&own, open, opens);
    for (int i = 0; i < opens; ++i) MPI_Start(&open[i]->request);
    complete(&own, open, opens);
    for (int i = 0; i < opens; ++i) {
      describe(open[i], where((int)(open[i] - calls)));
      check_call(open[i]);
    }
  }
  for (int i = 0; i < count; ++i)
    if (calls[i].peers > 0) close_call(&calls[i]);
}

static void run_round(void) {
  Stream stream = {hash_of(seed_, round_, 0, 6), 0};
  Group groups[2];
  for (int i = 0; i < 2; ++i) groups[i] = draw_group(&stream);
  for (int batch = 0; batch < kBatches; ++batch) run_batch(&stream, groups, batch + 1 == kBatches);
  for (int i = 0; i < 2; ++i) free_group(&groups[i]);
}

/* Sends rank 0's word to all ranks without a collective. */
static uint64_t of_rank_0(uint64_t word) {
  for (int to = 1; rank_ == 0 && to < size_; ++to) MPI_Send(&word, 8, MPI_BYTE, to, 1, all_);
  if (rank_ != 0) MPI_Recv(&word, 8, MPI_BYTE, 0, 1, all_, MPI_STATUS_IGNORE);
  return word;
}

static long environment(const char* name, long otherwise) {
  const char* text = getenv(name);
  return text == NULL ? otherwise : atol(text);
}

/* With COLL_SPAWN, all_ has the processes of this job and those that it starts. */
static MPI_Comm join_children(char** argv) {
  MPI_Comm inter;
  MPI_Comm_get_parent(&inter);
  const int is_child = inter != MPI_COMM_NULL;
  const int children = (int)environment("COLL_SPAWN", 0);
  if (!is_child && children > 0) {
    MPI_Comm_spawn(argv[0], argv + 1, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                   MPI_ERRCODES_IGNORE);
  }
  all_ = MPI_COMM_WORLD;
  if (inter != MPI_COMM_NULL) MPI_Intercomm_merge(inter, is_child, &all_);
  return inter;
}

static void part(MPI_Comm connection) {
  if (connection == MPI_COMM_NULL) return;
  MPI_Comm_free(&all_);
  MPI_Comm_disconnect(&connection);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const MPI_Comm connection = join_children(argv);
  MPI_Comm_rank(all_, &rank_);
  MPI_Comm_size(all_, &size_);
  CHECK(size_ <= kRanksMax, "more than %d ranks", kRanksMax);
  const double begin = now();
  const char* wish = getenv("COLL_SEED");
  const int by_clock = wish != NULL && strcmp(wish, "clock") == 0;
  seed_ = of_rank_0(by_clock ? (uint64_t)(begin * 1e6) : wish != NULL ? strtoull(wish, NULL, 10) : 1);
  const int rounds = argc > 1 ? atoi(argv[1]) : 50;
  const int chosen = (int)environment("COLL_ROUND", -1);
  const double seconds = (double)environment("COLL_SECONDS", 0);
  bytes_max_ = 1024 * (argc > 2 ? atol(argv[2]) : 128);
  verbose_ = (int)environment("COLL_VERBOSE", 0);
  only_ = getenv("COLL_ONLY");
  MPI_Op_create(apply_any_order, 1, &users_[0]);
  MPI_Op_create(apply_in_order, 0, &users_[1]);
  if (rank_ == 0) printf("random collectives: COLL_SEED=%llu\n", (unsigned long long)seed_);
  fflush(stdout);
  const int first = chosen < 0 ? 0 : chosen;
  for (round_ = first; chosen < 0 ? round_ < rounds || seconds > 0 : round_ == chosen; ++round_) {
    if (seconds > 0 && !of_rank_0(now() - begin < seconds)) break;
    run_round();
  }
  MPI_Op_free(&users_[0]);
  MPI_Op_free(&users_[1]);
  part(connection);
  MPI_Finalize();
  return 0;
}
