/* Random operations on windows of every kind in epochs of every kind, compared with a plain model. Each rank
 * draws the plan of all ranks, which depends only on a seed and the round, so that it can compute its memory,
 * and a single round can be repeated.
 *
 *   random ROUNDS
 *
 *   RMA_SEED=N|clock    another plan than the default one
 *   RMA_ROUND=N         this round only
 *   RMA_SECONDS=N       rounds for this time
 *   RMA_VERBOSE=1       rank 0 describes each round */
#include "window.h"

enum { kElementsMax = 48, kOpsMax = 12, kEpochs = 4 };

/* The words of a rank's window: sums, exclusive ors, constants, and a part for each rank's puts. */
enum { kSums = 0, kXors = 1024, kFixed = 2048, kPuts = 4096, kWords = 8192 };

typedef enum { kPut, kGet, kSum, kXor, kWhats } What;

/* The positions of elements, in words. */
typedef struct {
  int count, extent, is_vector, at[kElementsMax];
} Shape;

typedef struct {
  What what;
  int target, place; /* the word at the target where `there` begins */
  Shape here, there;
  uint64_t seed;
} Operation;

static uint64_t seed_;
static int round_, epoch_;
static uint64_t model_[kWords];

static uint64_t hash_of(uint64_t word) {
  word += 0x9e3779b97f4a7c15u;
  word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
  word = (word ^ word >> 27) * 0x94d049bb133111ebu;
  return word ^ word >> 31;
}

static uint64_t draw_word(uint64_t* stream) {
  return hash_of((*stream)++);
}
static int draw(uint64_t* stream, int below) {
  return (int)(draw_word(stream) >> 33) % below;
}

static uint64_t stream_of(int rank, int epoch) {
  return hash_of(hash_of(hash_of(seed_) + (uint64_t)round_) + (uint64_t)(1000 * epoch + rank));
}

static uint64_t fixed_word(int rank, int word) {
  return hash_of((uint64_t)(rank * kWords + word));
}
static uint64_t sent_word(const Operation* operation, int element) {
  return hash_of(operation->seed + (uint64_t)element);
}

static Shape draw_shape(uint64_t* stream, int count) {
  Shape shape = {.count = count};
  const int way = draw(stream, 3), gap = 1 + draw(stream, 3), block = 1 + draw(stream, 4);
  shape.is_vector = way == 1;
  int at = 0;
  for (int i = 0; i < count; ++i) {
    shape.at[i] = at;
    if (way == 0) at += 1;
    if (way == 1) at += gap;
    if (way == 2) at += i % block == block - 1 ? 1 + draw(stream, 4) : 1;
  }
  shape.extent = count == 0 ? 0 : shape.at[count - 1] + 1;
  return shape;
}

/* Puts of one rank in one epoch do not overlap; sums and exclusive ors lie anywhere. */
static int draw_operations(uint64_t* stream, Operation* operations, int origin) {
  const int count = draw(stream, kOpsMax + 1), part = (kWords - kPuts) / size_;
  int used[kRanksMax] = {0}, kept = 0;
  for (int i = 0; i < count; ++i) {
    Operation* one = &operations[kept];
    one->what = (What)draw(stream, kWhats);
    one->target = draw(stream, size_);
    const int elements = draw(stream, 8) == 0 ? 0 : 1 + draw(stream, kElementsMax);
    one->here = draw_shape(stream, elements);
    one->there = draw_shape(stream, elements);
    one->seed = draw_word(stream);
    const int room = one->what == kPut ? part : one->what == kGet ? kPuts - kFixed : kXors - kSums;
    int place = draw(stream, room - one->there.extent + 1);
    if (one->what == kPut) {
      place = used[one->target];
      if (place + one->there.extent > part) continue;
      used[one->target] += one->there.extent;
    }
    static const int areas[kWhats] = {kPuts, kFixed, kSums, kXors};
    one->place = areas[one->what] + place + (one->what == kPut ? origin * part : 0);
    ++kept;
  }
  return kept;
}

static MPI_Datatype type_of(const Shape* shape) {
  MPI_Datatype type;
  if (shape->is_vector && shape->count > 0)
    MPI_Type_vector(shape->count, 1, shape->count > 1 ? shape->at[1] : 1, MPI_UINT64_T, &type);
  else
    MPI_Type_create_indexed_block(shape->count, 1, shape->at, MPI_UINT64_T, &type);
  MPI_Type_commit(&type);
  return type;
}

/* Starts an operation; MPI_REQUEST_NULL if it has no request. */
static MPI_Request begin(Window* window, const Operation* one, uint64_t* buffer, int by_request) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Datatype here = type_of(&one->here), there = type_of(&one->there);
  const MPI_Aint at = place(window, one->target, 8 * (MPI_Aint)one->place);
  const MPI_Op op = one->what == kSum ? MPI_SUM : MPI_BXOR;
  const int target = one->target;
  MPI_Win win = window->win;
  if (one->what == kGet) {
    if (by_request)
      DO(MPI_Rget(buffer, 1, here, target, at, 1, there, win, &request));
    else
      DO(MPI_Get(buffer, 1, here, target, at, 1, there, win));
  } else {
    for (int i = 0; i < one->here.count; ++i) buffer[one->here.at[i]] = sent_word(one, i);
    if (one->what == kPut && by_request)
      DO(MPI_Rput(buffer, 1, here, target, at, 1, there, win, &request));
    else if (one->what == kPut)
      DO(MPI_Put(buffer, 1, here, target, at, 1, there, win));
    else if (by_request)
      DO(MPI_Raccumulate(buffer, 1, here, target, at, 1, there, op, win, &request));
    else
      DO(MPI_Accumulate(buffer, 1, here, target, at, 1, there, op, win));
  }
  MPI_Type_free(&here);
  MPI_Type_free(&there);
  return request;
}

/* Applies all ranks' operations to the model of this rank's memory. */
static void apply_to_model(const Operation* operations, int count) {
  for (int i = 0; i < count; ++i) {
    const Operation* one = &operations[i];
    if (one->target != rank_) continue;
    for (int k = 0; k < one->there.count; ++k) {
      uint64_t* word = &model_[one->place + one->there.at[k]];
      if (one->what == kPut) *word = sent_word(one, k);
      if (one->what == kSum) *word += sent_word(one, k);
      if (one->what == kXor) *word ^= sent_word(one, k);
    }
  }
}

static void run_epoch(Window* window, Form form) {
  static uint64_t buffers[kOpsMax][kElementsMax * 4];
  const int passive = form == kLock || form == kLockAll;
  Operation mine[kOpsMax], theirs[kOpsMax];
  MPI_Request requests[kOpsMax];
  uint64_t stream = stream_of(rank_, epoch_);
  const int count = draw_operations(&stream, mine, rank_);
  memset(buffers, 0xee, sizeof buffers);
  if (draw(&stream, 4) == 0) pause_us(draw(&stream, 500));
  epoch_begin(window, form);
  for (int i = 0; i < count; ++i) {
    requests[i] = begin(window, &mine[i], buffers[i], passive && draw(&stream, 3) == 0);
    if (passive && draw(&stream, 8) == 0) DO(MPI_Win_flush(mine[i].target, window->win));
    if (passive && draw(&stream, 16) == 0) DO(MPI_Win_flush_all(window->win));
  }
  if (passive) DO(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
  epoch_end(window, form);
  for (int i = 0; i < count; ++i) {
    uint64_t want[kElementsMax * 4];
    memset(want, 0xee, sizeof want);
    for (int k = 0; k < mine[i].here.count; ++k) {
      want[mine[i].here.at[k]] = mine[i].what == kGet
                                     ? fixed_word(mine[i].target, mine[i].place + mine[i].there.at[k])
                                     : sent_word(&mine[i], k);
    }
    for (int k = 0; k < kElementsMax * 4; ++k)
      CHECK(buffers[i][k] == want[k],
            "RMA_SEED=%llu RMA_ROUND=%d, epoch %d by %s, operation %d: word %d of the buffer",
            (unsigned long long)seed_, round_, epoch_, form_names_[form], i, k);
  }
  for (int rank = 0; rank < size_; ++rank) {
    stream = stream_of(rank, epoch_);
    apply_to_model(theirs, draw_operations(&stream, theirs, rank));
  }
  const uint64_t* own = (const uint64_t*)(const void*)window->memory;
  for (int i = 0; i < kWords; ++i)
    CHECK(own[i] == model_[i], "RMA_SEED=%llu RMA_ROUND=%d, epoch %d by %s, %s: word %d is %llx, not %llx",
          (unsigned long long)seed_, round_, epoch_, form_names_[form], kind_names_[window->kind], i,
          (unsigned long long)own[i], (unsigned long long)model_[i]);
  DO(MPI_Barrier(MPI_COMM_WORLD));
}

static void run_epochs(Window* window) {
  uint64_t stream = stream_of(kRanksMax, 0);
  for (int i = 0; i < kWords; ++i) model_[i] = i >= kFixed && i < kPuts ? fixed_word(rank_, i) : 0;
  own_begin(window);
  memcpy(window->memory, model_, sizeof model_);
  own_end(window);
  for (epoch_ = 0; epoch_ < kEpochs; ++epoch_) run_epoch(window, (Form)draw(&stream, kForms));
}

static long environment(const char* name, long otherwise) {
  const char* text = getenv(name);
  return text == NULL ? otherwise : atol(text);
}

static uint64_t of_rank_0(uint64_t word) {
  DO(MPI_Bcast(&word, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
  return word;
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  const double begin_s = now();
  const char* wish = getenv("RMA_SEED");
  const int by_clock = wish != NULL && strcmp(wish, "clock") == 0;
  seed_ = of_rank_0(by_clock ? (uint64_t)(begin_s * 1e6) : wish != NULL ? strtoull(wish, NULL, 10) : 1);
  const int rounds = argc > 1 ? atoi(argv[1]) : 24, chosen = (int)environment("RMA_ROUND", -1);
  const double seconds = (double)environment("RMA_SECONDS", 0);
  const long verbose = environment("RMA_VERBOSE", 0);
  if (rank_ == 0) printf("random windows: RMA_SEED=%llu\n", (unsigned long long)seed_);
  fflush(stdout);
  const int first = chosen < 0 ? 0 : chosen;
  for (round_ = first; chosen < 0 ? round_ < rounds || seconds > 0 : round_ == chosen; ++round_) {
    if (seconds > 0 && !of_rank_0(now() - begin_s < seconds)) break;
    const Kind kind = (Kind)(round_ % kKinds);
    if (verbose && rank_ == 0) fprintf(stderr, "round %d: %s\n", round_, kind_names_[kind]);
    with_window(kind, kWords * 8, 0, run_epochs);
  }
  MPI_Finalize();
  return 0;
}
