/* One collective call: its random parameters, its buffers, the call in its three forms, and the expected
 * results. Everything on which ranks must agree follows from the call's seed; layouts are each rank's own. */
#ifndef TESTS_MULTI_COLL_RANDOM_CALLS_H
#define TESTS_MULTI_COLL_RANDOM_CALLS_H

#include "random_groups.h"
#include "random_layout.h"

typedef enum {
  kBarrier,
  kBcast,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kAlltoallw,
  kReduce,
  kAllreduce,
  kReduceScatterBlock,
  kReduceScatter,
  kScan,
  kExscan,
  kCollectives
} Collective;

static const char* const kCollectiveNames[kCollectives] = {
    "barrier",        "bcast",    "gather",    "gatherv",   "scatter", "scatterv",  "allgather",
    "allgatherv",     "alltoall", "alltoallv", "alltoallw", "reduce",  "allreduce", "reduce_scatter_block",
    "reduce_scatter", "scan",     "exscan"};

typedef enum { kBlocking, kNonblocking, kPersistent } Form;
static const char* const kFormNames[] = {"blocking", "non-blocking", "persistent"};

typedef struct {
  Collective collective;
  Form form;
  const Type* type;
  Operation operation;
  int unit;    /* the length of every block is a multiple of it */
  long length; /* of a block, in the predefined type; before it varies */
  int in_place;
  int turns; /* starts of a persistent request */
  uint64_t seed;

  const Group* group;
  int peers;          /* the ranks from and to which the call moves data: */
  const int* members; /* the remote group of an intercommunicator, else the own group */
  int root, root_side;
  Side send, receive;
  int* counts;                              /* of MPI_Reduce_scatter, in extents */
  MPI_Datatype *send_types, *receive_types; /* of MPI_Alltoallw */
  uint64_t turn_seed;
  MPI_Request request;
} Call;

static int is_reduction(const Call* call) {
  return call->collective >= kReduce;
}
static int scatters_result(const Call* call) {
  return call->collective == kReduceScatterBlock || call->collective == kReduceScatter;
}
static int has_root(const Call* call) {
  return (call->collective >= kBcast && call->collective <= kScatterv) || call->collective == kReduce;
}

static void describe(const Call* call, const char* where) {
  const Group* group = call->group;
  snprintf(context_, sizeof context_, "%s: %s %s of %ld %s%s%s%s, root %d%s, %s of %d%s%d ranks", where,
           kFormNames[call->form], kCollectiveNames[call->collective], call->length, call->type->name,
           is_reduction(call) ? " with " : "",
           is_reduction(call) ? kOperationNames[call->operation].name : "", call->in_place ? " in place" : "",
           has_root(call) ? call->root : 0,
           group->inter ? (call->root_side ? " of the second group" : " of the first group") : "",
           group->kind, group->size, group->inter ? " and " : " of ", group->inter ? group->others : size_);
}

/* Relevant lengths: zero, what fits a cache line, limits of fragments and lengths around them. */
static long draw_bytes(Stream* stream, long bytes_max) {
  static const long borders[] = {56,    64,    512,   1024,   2048,   4096,   8192,
                                 16384, 32768, 65536, 131072, 262144, 1048576};
  const int kind = (int)draw(stream, 100);
  long bytes = 0;
  if (kind >= 12 && kind < 45) {
    bytes = 1 + draw(stream, 80);
  } else if (kind >= 45 && kind < 70) {
    bytes = borders[draw(stream, sizeof borders / sizeof borders[0])] + 8 * (draw(stream, 5) - 2);
  } else if (kind >= 70) {
    bytes = draw(stream, 64L << draw(stream, 12));
  }
  return bytes > bytes_max ? draw(stream, bytes_max) : bytes;
}

/* The parameters that all ranks draw alike. `bytes_max`: the most that a rank has in one buffer. */
static Call draw_call(Stream* stream, const Group* group, const char* only, long bytes_max) {
  static const int units[] = {1, 1, 1, 2, 4, 6, 12};
  Call call = {.group = group, .request = MPI_REQUEST_NULL};
  call.collective = (Collective)draw(stream, kCollectives);
  for (int i = 0; only != NULL && i < kCollectives; ++i)
    if (strcmp(only, kCollectiveNames[i]) == 0) call.collective = (Collective)i;
  call.form = (Form)draw(stream, 3);
  call.operation = (Operation)draw(stream, kOperations);
  call.type = &kTypes[draw(stream, kTypeCount)];
  while (is_reduction(&call) && call.operation < kUserAnyOrder &&
         strchr(kOperationNames[call.operation].classes, class_letter(call.type->class)) == NULL)
    call.type = &kTypes[draw(stream, kTypeCount)];
  if (is_reduction(&call) && call.operation >= kUserAnyOrder) call.type = user_type();
  call.unit = units[draw(stream, sizeof units / sizeof units[0])];
  if (is_reduction(&call)) bytes_max /= 4; /* each rank computes from the inputs of all ranks */
  if (call.collective >= kGather && (call.collective < kReduce || scatters_result(&call))) bytes_max /= size_;
  call.length = draw_bytes(stream, bytes_max) / call.type->extent / call.unit * call.unit;
  call.in_place = chance(stream, 30);
  call.turns = call.form == kPersistent ? 1 + (int)draw(stream, 3) : 1;
  call.seed = draw_word(stream);
  if (group->inter) call.in_place = 0;
  if (group->inter && call.collective >= kScan) call.collective = kAllreduce;
  if (call.collective <= kBcast) call.in_place = 0;
  call.peers = group->inter ? group->others : group->size;
  call.members = group->inter ? group->remote : group->own;
  call.root_side = (int)(call.seed >> 8 & 1);
  const int roots = group->inter && call.root_side != group->side ? group->others : group->size;
  if (group->comm != MPI_COMM_NULL) call.root = (int)((call.seed >> 16) % (uint64_t)roots);
  return call;
}

static int is_root(const Call* call) {
  return call->group->rank == call->root && (!call->group->inter || call->group->side == call->root_side);
}
/* False if the root of an intercommunicator's call is in this group. */
static int is_beside_root(const Call* call) {
  return !call->group->inter || call->group->side != call->root_side;
}

/* The length of the block from one rank of MPI_COMM_WORLD to another. */
static long block_length(const Call* call, int from, int to) {
  int one = -1, other = -1;
  switch (call->collective) {
    case kGatherv:
    case kAllgatherv:
      one = from;
      break;
    case kScatterv:
      one = to;
      break;
    case kAlltoallv:
    case kAlltoallw:
      one = call->in_place && from > to ? to : from;
      other = call->in_place && from > to ? from : to;
      break;
    default:
      return call->length;
  }
  const uint64_t word = hash_of(call->seed, one, other, 1);
  return word % 6 == 0 ? 0 : call->length + call->unit * (long)(word >> 8 & 1);
}

/* The receiver that the data of a block depend on; -1 in collectives that gather. */
static int data_to(const Call* call, int to) {
  const Collective c = call->collective;
  return c == kScatter || c == kScatterv || (c >= kAlltoall && c <= kAlltoallw) ? to : -1;
}

/* The length of a rank's input to a reduction. Scattered results can be divided evenly by both groups. */
static long vector_length(const Call* call) {
  if (!scatters_result(call)) return call->length;
  return call->length * call->group->size * (call->group->inter ? call->group->others : 1);
}

/* The start of a rank's part of a scattered result; some parts are empty. */
static long border(const Call* call, int rank) {
  const int size = call->group->size;
  if (call->collective == kReduceScatter && rank > 0 && rank < size &&
      hash_of(call->seed, rank, 0, 2) % 3 == 0)
    --rank;
  return vector_length(call) / size * rank;
}
static long part_length(const Call* call, int rank) {
  return scatters_result(call) ? border(call, rank + 1) - border(call, rank) : call->length;
}

static Stream own_stream(const Call* call, int what) {
  const Stream stream = {hash_of(call->seed, rank_, what, 3), 0};
  return stream;
}

/* Sets up one side of a call with `blocks` blocks of these lengths; takes ownership of `lengths`. */
static void open_side(const Call* call, Side* side, int what, int blocks, long* lengths) {
  const Collective c = call->collective;
  Stream own = own_stream(call, what), common = {call->seed, 0};
  const int scattered =
      c == kGatherv || c == kScatterv || c == kAllgatherv || (c >= kAlltoallv && c <= kAlltoallw);
  side->in_bytes = c == kAlltoallw;
  if (is_reduction(call)) {
    /* The same on all ranks; derived types only for user-defined operations. */
    side->layouts[0] = call->operation < kUserAnyOrder ? plain_layout(call->type)
                                                       : draw_layout(&common, call->type, call->unit);
  } else {
    side->layouts[0] = draw_layout(&own, call->type, call->unit);
  }
  if (side->in_bytes) side->layouts[1] = draw_layout(&own, call->type, call->unit);
  lay_out(side, &own, blocks, lengths, scattered && blocks > 1);
}

static void open_one(const Call* call, Side* side, int what, long length) {
  long* lengths = malloc(sizeof(long));
  lengths[0] = length;
  open_side(call, side, what, 1, lengths);
}

/* Sets up a side with one block per peer. */
static void open_all(const Call* call, Side* side, int what) {
  long* lengths = malloc(sizeof(long) * (size_t)(call->peers + 1));
  for (int i = 0; i < call->peers; ++i)
    lengths[i] =
        what == 0 ? block_length(call, rank_, call->members[i]) : block_length(call, call->members[i], rank_);
  open_side(call, side, what, call->peers, lengths);
}

static MPI_Datatype* types_of(const Side* side) {
  MPI_Datatype* types = malloc(sizeof(MPI_Datatype) * (size_t)(side->blocks + 1));
  for (int i = 0; i < side->blocks; ++i) types[i] = layout_of(side, i)->handle;
  return types;
}

/* The layouts with which user-defined operations may be called. */
enum { kLiveMax = 64 };
static const Layout* live_[kLiveMax];

static void remember(const Layout* layout) {
  for (int i = 0; i < kLiveMax; ++i) {
    if (live_[i] != NULL) continue;
    live_[i] = layout;
    return;
  }
  CHECK(0, "the test itself: more than %d layouts", kLiveMax);
}
static void forget(const Layout* layout) {
  for (int i = 0; i < kLiveMax; ++i)
    if (live_[i] == layout) live_[i] = NULL;
}

static void open_call(Call* call) {
  const int root = is_root(call), beside = is_beside_root(call), in_place = call->in_place;
  switch (call->collective) {
    case kBarrier:
      break;
    case kBcast:
      if (root || beside) open_one(call, &call->receive, 1, call->length);
      break;
    case kGather:
    case kGatherv:
      if (beside && !(root && in_place)) open_one(call, &call->send, 0, block_length(call, rank_, -1));
      if (root) open_all(call, &call->receive, 1);
      break;
    case kScatter:
    case kScatterv:
      if (root) open_all(call, &call->send, 0);
      if (beside && !(root && in_place)) open_one(call, &call->receive, 1, block_length(call, -1, rank_));
      break;
    case kAllgather:
    case kAllgatherv:
      if (!in_place) open_one(call, &call->send, 0, block_length(call, rank_, -1));
      open_all(call, &call->receive, 1);
      break;
    case kAlltoall:
    case kAlltoallv:
    case kAlltoallw:
      if (!in_place) open_all(call, &call->send, 0);
      open_all(call, &call->receive, 1);
      break;
    case kReduce:
      if (beside && !(root && in_place)) open_one(call, &call->send, 0, call->length);
      if (root) open_one(call, &call->receive, 1, call->length);
      break;
    default:
      if (!in_place) open_one(call, &call->send, 0, vector_length(call));
      open_one(call, &call->receive, 1,
               in_place ? vector_length(call) : part_length(call, call->group->rank));
  }
  if (call->collective == kAlltoallw) {
    call->send_types = in_place ? NULL : types_of(&call->send);
    call->receive_types = types_of(&call->receive);
  }
  if (call->collective == kReduceScatter) {
    call->counts = malloc(sizeof(int) * (size_t)call->group->size);
    for (int i = 0; i < call->group->size; ++i)
      call->counts[i] = (int)(part_length(call, i) / call->receive.layouts[0].parts);
  }
  if (is_reduction(call)) {
    if (call->send.memory != NULL) remember(&call->send.layouts[0]);
    if (call->receive.memory != NULL) remember(&call->receive.layouts[0]);
  }
}

static void close_side(Side* side) {
  if (side->memory == NULL) return;
  forget(&side->layouts[0]);
  free_side(side);
  free_layout(&side->layouts[0]);
  if (side->in_bytes) free_layout(&side->layouts[1]);
}

static void close_call(Call* call) {
  if (call->form == kPersistent) MPI_Request_free(&call->request);
  CHECK(call->request == MPI_REQUEST_NULL, "%s: the request is still there", context_);
  close_side(&call->send);
  close_side(&call->receive);
  free(call->counts);
  free(call->send_types);
  free(call->receive_types);
}

static void put_input(const Call* call, Side* side) {
  for (long i = 0; i < side->lengths[0]; ++i)
    store_value(call->type, part_of(side, 0, i),
                input_value(call->type, call->operation, call->turn_seed, rank_, i));
}

/* Fills the buffers with the data before the call. */
static void fill_call(Call* call, int turn) {
  const int root = is_root(call), in_place = call->in_place;
  const Group* group = call->group;
  call->turn_seed = hash_of(call->seed, turn, 0, 4);
  clear_side(&call->send);
  clear_side(&call->receive);
  if (is_reduction(call)) {
    if (call->send.memory != NULL) put_input(call, &call->send);
    if (in_place && call->receive.memory != NULL) put_input(call, &call->receive);
    return;
  }
  for (int i = 0; call->send.memory != NULL && i < call->send.blocks; ++i)
    visit_bytes(&call->send, i, call->turn_seed, rank_, data_to(call, call->members[i]), 0);
  if (call->collective == kBcast && root) visit_bytes(&call->receive, 0, call->turn_seed, rank_, -1, 0);
  if (!in_place || call->receive.memory == NULL) return;
  for (int i = 0; i < call->receive.blocks; ++i) {
    /* The own block is already in place; MPI_Alltoall sends from its receive buffer. */
    if (call->collective >= kAlltoall || i == group->rank)
      visit_bytes(&call->receive, i, call->turn_seed, rank_, data_to(call, call->members[i]), 0);
  }
}

static void check_input(const Call* call, Side* side) {
  for (long i = 0; i < side->lengths[0]; ++i) {
    unsigned char* part = part_of(side, 0, i);
    CHECK(equal_values(load_value(call->type, part),
                       input_value(call->type, call->operation, call->turn_seed, rank_, i)),
          "%s: element %ld of the input was changed", context_, i);
    memset(part, kFiller, (size_t)call->type->extent);
  }
}

/* Checks that the first `count` elements are the reduction over members `first` to `last`, from an index
 * on. */
static void check_result(const Call* call, Side* side, long count, long first_index, int first, int last) {
  for (long i = 0; i < side->lengths[0]; ++i) {
    unsigned char* part = part_of(side, 0, i);
    if (i < count) {
      const long index = first_index + i;
      Value wanted = input_value(call->type, call->operation, call->turn_seed, call->members[first], index);
      for (int member = first + 1; member <= last; ++member)
        wanted =
            combine(call->type, call->operation, wanted,
                    input_value(call->type, call->operation, call->turn_seed, call->members[member], index));
      const Value got = load_value(call->type, part);
      CHECK(equal_values(got, wanted), "%s: element %ld of %ld is %llx %Lg %Lg, not %llx %Lg %Lg", context_,
            i, count, (unsigned long long)got.bits, got.first, got.second, (unsigned long long)wanted.bits,
            wanted.first, wanted.second);
    }
    memset(part, kFiller, (size_t)call->type->extent);
  }
}

static void check_reduction(Call* call) {
  const int rank = call->group->rank, last = call->peers - 1;
  const long count = call->length;
  if (call->send.memory != NULL) check_input(call, &call->send);
  if (call->receive.memory == NULL) return;
  switch (call->collective) {
    case kScan:
      check_result(call, &call->receive, count, 0, 0, rank);
      break;
    case kExscan:
      /* The first rank's buffer is unchanged, except that this is not guaranteed in place. */
      if (rank > 0) check_result(call, &call->receive, count, 0, 0, rank - 1);
      if (rank == 0 && call->in_place) check_result(call, &call->receive, 0, 0, 0, 0);
      break;
    case kReduceScatterBlock:
    case kReduceScatter:
      check_result(call, &call->receive, part_length(call, rank), border(call, rank), 0, last);
      break;
    default:
      check_result(call, &call->receive, count, 0, 0, last);
  }
}

/* Checks that all data are correct and nothing else was written. */
static void check_call(Call* call) {
  if (is_reduction(call)) {
    check_reduction(call);
  } else {
    const Group* group = call->group;
    const int beyond = group->inter && group->side != call->root_side;
    const int root = beyond ? group->remote[call->root] : group->own[call->root];
    for (int i = 0; call->send.memory != NULL && i < call->send.blocks; ++i)
      visit_bytes(&call->send, i, call->turn_seed, rank_, data_to(call, call->members[i]), 1);
    for (int i = 0; call->receive.memory != NULL && i < call->receive.blocks; ++i) {
      const int from =
          call->collective == kBcast || call->collective == kScatter || call->collective == kScatterv
              ? root
              : call->members[i];
      visit_bytes(&call->receive, i, call->turn_seed, from, data_to(call, rank_), 1);
    }
  }
  check_filler(&call->send);
  check_filler(&call->receive);
}

#endif
