/* Data put into and got from windows (MPI 5.0 sections 12.3.1, 12.3.2, 12.3.5): between datatypes of every
 * shape, at displacements in units that differ by rank, to oneself, to MPI_PROC_NULL, no data, and 4 MiB; on
 * windows of every kind, with every kind of synchronization. Any number of ranks. */
#include "window.h"

enum { kNumbers = 12, kLayouts = 6, kRegion = 64, kBefore = 12 };

/* The positions of a layout's numbers, in ints from the buffer's start; they may be negative. */
typedef struct {
  MPI_Datatype type;
  int count;
  int at[kNumbers];
} Layout;

static Layout layouts_[kLayouts];
static Form form_;

static void make_layouts(void) {
  const int lengths[] = {1, 5, 2, 4}, places[] = {20, 0, 8, 12};
  const int before[] = {-8, 0, -4};
  MPI_Datatype inner;
  layouts_[0] = (Layout){MPI_INT, kNumbers, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}};
  layouts_[1] = (Layout){MPI_DATATYPE_NULL, 1, {0, 1, 2, 5, 6, 7, 10, 11, 12, 15, 16, 17}};
  MPI_Type_vector(4, 3, 5, MPI_INT, &layouts_[1].type);
  layouts_[2] = (Layout){MPI_DATATYPE_NULL, 1, {20, 0, 1, 2, 3, 4, 8, 9, 12, 13, 14, 15}};
  MPI_Type_indexed(4, lengths, places, MPI_INT, &layouts_[2].type);

  const int struct_lengths[] = {4, 1};
  const MPI_Aint struct_places[] = {40, 64};
  layouts_[3] = (Layout){MPI_DATATYPE_NULL, 1, {10, 11, 12, 13, 16, 17, 18, 19, 22, 23, 24, 25}};
  MPI_Type_vector(2, 4, 6, MPI_INT, &inner);
  const MPI_Datatype struct_types[] = {MPI_INT, inner};
  MPI_Type_create_struct(2, struct_lengths, struct_places, struct_types, &layouts_[3].type);
  MPI_Type_free(&inner);

  layouts_[4] = (Layout){MPI_DATATYPE_NULL, 1, {-8, -7, -6, -5, 0, 1, 2, 3, -4, -3, -2, -1}};
  MPI_Type_create_indexed_block(3, 4, before, MPI_INT, &layouts_[4].type);
  layouts_[5] = (Layout){MPI_DATATYPE_NULL, 3, {0, 1, 2, 3, 6, 7, 8, 9, 12, 13, 14, 15}};
  MPI_Type_contiguous(4, MPI_INT, &inner);
  MPI_Type_create_resized(inner, -8, 24, &layouts_[5].type);
  MPI_Type_free(&inner);
  for (int i = 1; i < kLayouts; ++i) MPI_Type_commit(&layouts_[i].type);
}

static int number(int origin, int target, int which, int i) {
  return 1000000 * (origin + 1) + 10000 * target + 100 * which + i;
}

/* Each rank has a region per origin and layout; the target displacement is kBefore ints into it. */
static MPI_Aint region(int origin, int which) {
  return (MPI_Aint)sizeof(int) * kRegion * (origin * kLayouts + which);
}

static void expect_regions(Window* window, int (*target_layout)(int, Kind)) {
  for (int origin = 0; origin < size_; ++origin) {
    for (int which = 0; which < kLayouts; ++which) {
      int want[kRegion], got[kRegion];
      memset(want, -1, sizeof want);
      for (int i = 0; i < kNumbers; ++i)
        want[kBefore + layouts_[target_layout(which, window->kind)].at[i]] = number(origin, rank_, which, i);
      memcpy(got, window->memory + region(origin, which), sizeof got);
      for (int i = 0; i < kRegion; ++i)
        CHECK(got[i] == want[i], "%s, %s: of rank %d, layout %d: int %d is %d, not %d",
              kind_names_[window->kind], form_names_[form_], origin, which, i, got[i], want[i]);
    }
  }
}

static int put_to(int which, Kind kind) {
  return (which + (int)kind + (int)form_) % kLayouts;
}
static int get_to(int which, Kind kind) {
  return (which + 1 + (int)kind) % kLayouts;
}

/* Puts into regions of all ranks, then gets from there into another layout. */
static void test_layouts(Window* window) {
  const int slots = size_ * kLayouts;
  int* out = malloc(sizeof(int) * kRegion * (size_t)slots);
  memset(out, 0, sizeof(int) * kRegion * (size_t)slots);
  epoch_begin(window, form_);
  for (int step = 0; step < size_; ++step) {
    const int target = (rank_ + step) % size_;
    for (int which = 0; which < kLayouts; ++which) {
      const Layout* from = &layouts_[which];
      const Layout* to = &layouts_[put_to(which, window->kind)];
      int* buffer = out + kRegion * (target * kLayouts + which) + kBefore;
      for (int i = 0; i < kNumbers; ++i) buffer[from->at[i]] = number(rank_, target, which, i);
      DO(MPI_Put(buffer, from->count, from->type, target,
                 place(window, target, region(rank_, which) + kBefore * (MPI_Aint)sizeof(int)), to->count,
                 to->type, window->win));
    }
  }
  epoch_end(window, form_);
  expect_regions(window, put_to);
  MPI_Barrier(MPI_COMM_WORLD);

  memset(out, -1, sizeof(int) * kRegion * (size_t)slots);
  epoch_begin(window, form_);
  for (int step = 0; step < size_; ++step) {
    const int target = (rank_ + step) % size_;
    for (int which = 0; which < kLayouts; ++which) {
      const Layout* from = &layouts_[put_to(which, window->kind)];
      const Layout* to = &layouts_[get_to(which, window->kind)];
      DO(MPI_Get(out + kRegion * (target * kLayouts + which) + kBefore, to->count, to->type, target,
                 place(window, target, region(rank_, which) + kBefore * (MPI_Aint)sizeof(int)), from->count,
                 from->type, window->win));
    }
  }
  epoch_end(window, form_);
  for (int slot = 0; slot < slots; ++slot) {
    const int target = slot / kLayouts, which = slot % kLayouts;
    int want[kRegion];
    memset(want, -1, sizeof want);
    for (int i = 0; i < kNumbers; ++i)
      want[kBefore + layouts_[get_to(which, window->kind)].at[i]] = number(rank_, target, which, i);
    for (int i = 0; i < kRegion; ++i)
      CHECK(out[kRegion * slot + i] == want[i], "%s, %s: from rank %d, layout %d: int %d is %d, not %d",
            kind_names_[window->kind], form_names_[form_], target, which, i, out[kRegion * slot + i],
            want[i]);
  }
  expect_regions(window, put_to);
  free(out);
}

/* MPI_PROC_NULL and counts of zero: no memory is accessed on either side (section 12.3). */
static void test_nothing(Window* window) {
  long words[2] = {-5, -6}, result = -7;
  char* before = malloc((size_t)window->bytes);
  memcpy(before, window->memory, (size_t)window->bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  epoch_begin(window, form_);
  DO(MPI_Put(words, 2, MPI_LONG, MPI_PROC_NULL, 0, 2, MPI_LONG, window->win));
  DO(MPI_Get(words, 2, MPI_LONG, MPI_PROC_NULL, 1 << 30, 2, MPI_LONG, window->win));
  DO(MPI_Accumulate(words, 2, MPI_LONG, MPI_PROC_NULL, 0, 2, MPI_LONG, MPI_SUM, window->win));
  DO(MPI_Get_accumulate(words, 2, MPI_LONG, words + 1, 1, MPI_LONG, MPI_PROC_NULL, 0, 2, MPI_LONG, MPI_SUM,
                        window->win));
  DO(MPI_Fetch_and_op(words, &result, MPI_LONG, MPI_PROC_NULL, 0, MPI_SUM, window->win));
  DO(MPI_Compare_and_swap(words, words + 1, &result, MPI_LONG, MPI_PROC_NULL, 0, window->win));
  if (form_ == kLock || form_ == kLockAll) {
    MPI_Request requests[4];
    DO(MPI_Rput(words, 2, MPI_LONG, MPI_PROC_NULL, 0, 2, MPI_LONG, window->win, &requests[0]));
    DO(MPI_Rget(words, 2, MPI_LONG, MPI_PROC_NULL, 0, 2, MPI_LONG, window->win, &requests[1]));
    DO(MPI_Raccumulate(words, 2, MPI_LONG, MPI_PROC_NULL, 0, 2, MPI_LONG, MPI_SUM, window->win,
                       &requests[2]));
    DO(MPI_Rget_accumulate(words, 1, MPI_LONG, &result, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, MPI_SUM,
                           window->win, &requests[3]));
    DO(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
  }
  for (int target = 0; target < size_; ++target) {
    const MPI_Aint at = place(window, target, 0), end = place(window, target, window->bytes);
    DO(MPI_Put(words, 0, MPI_LONG, target, at, 0, MPI_LONG, window->win));
    DO(MPI_Put(NULL, 0, MPI_LONG, target, at, 0, layouts_[1].type, window->win));
    DO(MPI_Get(words, 0, layouts_[2].type, target, at, 0, MPI_LONG, window->win));
    DO(MPI_Put(words, 0, MPI_LONG, target, end, 0, MPI_LONG, window->win));
    DO(MPI_Accumulate(words, 0, MPI_LONG, target, at, 0, MPI_LONG, MPI_SUM, window->win));
    DO(MPI_Get_accumulate(words, 0, MPI_LONG, &result, 0, MPI_LONG, target, at, 0, MPI_LONG, MPI_SUM,
                          window->win));
  }
  epoch_end(window, form_);
  CHECK(words[0] == -5 && words[1] == -6 && result == -7, "nothing came, and wrote %ld, %ld, %ld", words[0],
        words[1], result);
  CHECK(memcmp(before, window->memory, (size_t)window->bytes) == 0, "nothing was written into the window");
  free(before);
}

/* Many requests of each kind. The origin buffer of a put may be reused, and that of a get contains the data,
 * once the request is complete. */
static void test_requests(Window* window) {
  enum { kEach = 8 };
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  int out[kEach], in[kEach];
  MPI_Request requests[kEach];
  MPI_Barrier(MPI_COMM_WORLD);
  epoch_begin(window, form_);
  for (int i = 0; i < kEach; ++i) {
    out[i] = number(rank_, next, 0, i);
    DO(MPI_Rput(&out[i], 1, MPI_INT, next, place(window, next, 8 * i), 1, MPI_INT, window->win,
                &requests[i]));
  }
  DO(MPI_Waitall(kEach, requests, MPI_STATUSES_IGNORE));
  memset(out, 0, sizeof out);
  DO(MPI_Win_flush(next, window->win));
  for (int i = 0; i < kEach; ++i)
    DO(MPI_Rget(&in[i], 1, MPI_INT, next, place(window, next, 8 * i), 1, MPI_INT, window->win, &requests[i]));
  for (int i = 0; i < kEach; ++i) {
    int index = -1;
    MPI_Status status;
    DO(MPI_Waitany(kEach, requests, &index, &status));
    CHECK(index >= 0 && index < kEach && in[index] == number(rank_, next, 0, index), "got %d of request %d",
          in[index], index);
  }
  MPI_Request request;
  int done = 0;
  DO(MPI_Rget(in, 1, MPI_INT, next, place(window, next, 0), 1, MPI_INT, window->win, &request));
  while (!done) DO(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
  CHECK(request == MPI_REQUEST_NULL && in[0] == number(rank_, next, 0, 0), "tested, and got %d", in[0]);
  epoch_end(window, form_);
  for (int i = 0; i < kEach; ++i) {
    int got;
    memcpy(&got, window->memory + 8 * i, sizeof got);
    CHECK(got == number(previous, rank_, 0, i), "int %d is %d", i, got);
  }
}

#if MPI_VERSION >= 4
/* The forms with counts of MPI_Count behave alike, one after another in one place of the next rank. */
static void test_count_forms(Window* window) {
  const int next = (rank_ + 1) % size_, passive = form_ == kLock || form_ == kLockAll;
  const MPI_Aint at = place(window, next, 0), behind = place(window, next, 64);
  const long out[2] = {10 + rank_, 20 + rank_}, zeros[2] = {0, 0};
  long in[4][2];
  MPI_Win win = window->win;
  MPI_Request requests[2];
  epoch_begin(window, form_);
  DO(MPI_Put_c(zeros, (MPI_Count)2, MPI_LONG, next, at, (MPI_Count)2, MPI_LONG, win));
  DO(MPI_Put_c(out, (MPI_Count)2, MPI_LONG, next, behind, (MPI_Count)2, MPI_LONG, win));
  epoch_end(window, form_);
  MPI_Barrier(MPI_COMM_WORLD);
  memset(in, -1, sizeof in);
  epoch_begin(window, form_);
  DO(MPI_Accumulate_c(out, (MPI_Count)2, MPI_LONG, next, at, (MPI_Count)2, MPI_LONG, MPI_SUM, win));
  DO(MPI_Get_accumulate_c(out, (MPI_Count)2, MPI_LONG, in[0], (MPI_Count)2, MPI_LONG, next, at, (MPI_Count)2,
                          MPI_LONG, MPI_SUM, win));
  DO(MPI_Get_c(in[1], (MPI_Count)2, MPI_LONG, next, behind, (MPI_Count)2, MPI_LONG, win));
  if (passive) {
    DO(MPI_Raccumulate_c(out, (MPI_Count)2, MPI_LONG, next, at, (MPI_Count)2, MPI_LONG, MPI_SUM, win,
                         &requests[0]));
    DO(MPI_Rget_accumulate_c(out, (MPI_Count)2, MPI_LONG, in[2], (MPI_Count)2, MPI_LONG, next, at,
                             (MPI_Count)2, MPI_LONG, MPI_SUM, win, &requests[1]));
    DO(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    DO(MPI_Win_flush(next, win));
    DO(MPI_Rput_c(zeros, (MPI_Count)2, MPI_LONG, next, behind, (MPI_Count)2, MPI_LONG, win, &requests[0]));
    DO(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    DO(MPI_Win_flush(next, win));
    DO(MPI_Rget_c(in[3], (MPI_Count)2, MPI_LONG, next, behind, (MPI_Count)2, MPI_LONG, win, &requests[0]));
    DO(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  }
  epoch_end(window, form_);
  const long* own = (const long*)(const void*)window->memory;
  for (int i = 0; i < 2; ++i) {
    const long sent = 10 * (i + 1) + (rank_ + size_ - 1) % size_;
    CHECK(own[i] == (passive ? 4 : 2) * sent, "the sum is %ld", own[i]);
    CHECK(own[8 + i] == (passive ? 0 : sent), "%ld behind it", own[8 + i]);
    CHECK(in[0][i] == out[i] && in[1][i] == out[i], "fetched %ld, got %ld", in[0][i], in[1][i]);
    CHECK(!passive || (in[2][i] == 3 * out[i] && in[3][i] == 0), "fetched %ld, got %ld", in[2][i], in[3][i]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}
#else
static void test_count_forms(Window* window) {
  (void)window;
}
#endif

static void test_kinds(Window* window) {
  test_layouts(window);
  test_nothing(window);
  if (form_ == kLock || form_ == kLockAll) test_requests(window);
  MPI_Barrier(MPI_COMM_WORLD);
  test_count_forms(window);
}

/* 4 MiB from each rank to the next one, and got from the next but one; contiguous at the target, or every
 * second block of 64. */
static void test_large(Window* window) {
  enum { kLong = 1 << 20, kBlock = 64 };
  const int next = (rank_ + 1) % size_, source = (rank_ + 2) % size_, previous = (rank_ + size_ - 1) % size_;
  const MPI_Aint half = window->bytes / 3;
  int* out = malloc(sizeof(int) * kLong);
  int* in = malloc(sizeof(int) * kLong);
  MPI_Datatype second;
  MPI_Type_vector(kLong / kBlock, kBlock, 2 * kBlock, MPI_INT, &second);
  MPI_Type_commit(&second);
  for (int i = 0; i < kLong; ++i) out[i] = (rank_ + 1) * 7919 + i;
  epoch_begin(window, form_);
  DO(MPI_Put(out, kLong, MPI_INT, next, place(window, next, 0), kLong, MPI_INT, window->win));
  DO(MPI_Put(out, kLong, MPI_INT, next, place(window, next, half), 1, second, window->win));
  epoch_end(window, form_);
  const int* whole = (const int*)(const void*)window->memory;
  const int* apart = (const int*)(const void*)(window->memory + half);
  for (int i = 0; i < kLong; ++i) {
    const int want = (previous + 1) * 7919 + i;
    CHECK(whole[i] == want && apart[i + i / kBlock * kBlock] == want, "number %d is %d and %d, not %d", i,
          whole[i], apart[i + i / kBlock * kBlock], want);
    const int gap = i + (i / kBlock + 1) * kBlock;
    CHECK(gap >= 2 * kLong - kBlock || apart[gap] == -1, "int %d of a gap holds %d", gap, apart[gap]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  memset(out, 0, sizeof(int) * kLong);
  epoch_begin(window, form_);
  DO(MPI_Get(in, kLong, MPI_INT, source, place(window, source, 0), kLong, MPI_INT, window->win));
  DO(MPI_Get(out, kLong, MPI_INT, source, place(window, source, half), 1, second, window->win));
  epoch_end(window, form_);
  for (int i = 0; i < kLong; ++i) {
    const int want = ((source + size_ - 1) % size_ + 1) * 7919 + i;
    CHECK(in[i] == want && out[i] == want, "number %d comes as %d and %d, not %d", i, in[i], out[i], want);
  }
  MPI_Type_free(&second);
  free(out);
  free(in);
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  make_layouts();
  for (form_ = kFence; form_ < kForms; ++form_)
    for (Kind kind = kOnStatic; kind < kKinds; ++kind) with_window(kind, region(size_, 0), -1, test_kinds);
  for (Kind kind = kOnStatic; kind < kKinds; ++kind) {
    form_ = (Form)(kind % kForms);
    with_window(kind, (MPI_Aint)3 * (4 << 20), -1, test_large);
  }
  for (int i = 1; i < kLayouts; ++i) MPI_Type_free(&layouts_[i].type);
  MPI_Finalize();
  return 0;
}
