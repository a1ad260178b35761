/* Accumulate operations (MPI 5.0 sections 12.3.3, 12.3.4, 12.7.1): every predefined operation on every
 * predefined type of C that supports it, the results of the fetching calls, order, compare-and-swap, derived
 * types, requests; on windows of every kind, with every kind of synchronization. Any number of ranks. */
#include "types.h"
#include "window.h"

enum { kElements = 3 };

static Form form_;

/* The slot of a type and an operation. Contributions are small, so that nothing overflows. */
static MPI_Aint slot(int type, int op) {
  return (MPI_Aint)kSlotBytes * (type * kOps + op);
}
static int contribution(int rank, int i) {
  return 1 + (rank + i) % 2;
}
static int initial(int i) {
  return 1 + i;
}

static void fill(Window* window) {
  own_begin(window);
  for (int t = 0; t < kTypes; ++t)
    for (int o = 0; o < kOps; ++o)
      for (int i = 0; i < kElements; ++i)
        types_[t].put(window->memory + slot(t, o) + (size_t)i * types_[t].bytes, initial(i), 20 + i);
  own_end(window);
}

static void expect(Window* window, const char* memory, int t, int o, int i, Value want, const char* what) {
  const Value got = types_[t].get(memory + (size_t)i * types_[t].bytes);
  CHECK(got.value == want.value && (types_[t].family != kPair || got.index == want.index),
        "%s, %s, %s: %s of %s, element %d: (%d, %d), not (%d, %d)", what, kind_names_[window->kind],
        form_names_[form_], ops_[o].name, types_[t].name, i, got.value, got.index, want.value, want.index);
}

static Value before(int t, int i) {
  return types_[t].get_of(initial(i), 20 + i);
}

/* All ranks accumulate on one rank per type, with MPI_Accumulate or its form with a request. */
static void test_all_to_one(Window* window) {
  const int with_requests = form_ == kLockAll;
  char* out = calloc((size_t)kTypes * kOps, kSlotBytes);
  MPI_Request* requests = calloc((size_t)kTypes * kOps, sizeof *requests);
  int open = 0;
  fill(window);
  epoch_begin(window, form_);
  for (int t = 0; t < kTypes; ++t) {
    for (int o = 0; o < kOps; ++o) {
      if (!takes(o, t) || ops_[o].op == MPI_NO_OP) continue;
      /* With MPI_REPLACE all ranks write the same value. */
      const int origin = ops_[o].op == MPI_REPLACE ? 0 : rank_, target = t % size_;
      char* mine = out + slot(t, o);
      for (int i = 0; i < kElements; ++i)
        types_[t].put(mine + (size_t)i * types_[t].bytes, contribution(origin, i), origin + 1);
      const MPI_Aint at = place(window, target, slot(t, o));
      if (with_requests)
        DO(MPI_Raccumulate(mine, kElements, types_[t].type, target, at, kElements, types_[t].type, ops_[o].op,
                           window->win, &requests[open++]));
      else
        DO(MPI_Accumulate(mine, kElements, types_[t].type, target, at, kElements, types_[t].type, ops_[o].op,
                          window->win));
    }
  }
  DO(MPI_Waitall(open, requests, MPI_STATUSES_IGNORE));
  if (with_requests) memset(out, 0x55, (size_t)kTypes * kOps * kSlotBytes);
  epoch_end(window, form_);
  for (int t = 0; t < kTypes; ++t) {
    for (int o = 0; o < kOps; ++o) {
      for (int i = 0; takes(o, t) && i < kElements; ++i) {
        Value want = before(t, i);
        for (int rank = 0; t % size_ == rank_ && ops_[o].op != MPI_NO_OP && rank < size_; ++rank) {
          const int origin = ops_[o].op == MPI_REPLACE ? 0 : rank;
          want = applied(o, types_[t].get_of(contribution(origin, i), origin + 1), want);
        }
        expect(window, window->memory + slot(t, o), t, o, i, want, "all to one");
      }
    }
  }
  free(requests);
  free(out);
}

/* Each rank accumulates on the next one and fetches the old value: MPI_Get_accumulate, MPI_Fetch_and_op for
 * one element, or the form with a request. */
static void test_fetching(Window* window) {
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  const int with_requests = form_ == kLock;
  char* out = calloc((size_t)kTypes * kOps, kSlotBytes);
  char* in = calloc((size_t)kTypes * kOps, kSlotBytes);
  MPI_Request* requests = calloc((size_t)kTypes * kOps, sizeof *requests);
  int open = 0;
  fill(window);
  epoch_begin(window, form_);
  for (int t = 0; t < kTypes; ++t) {
    for (int o = 0; o < kOps; ++o) {
      if (!takes(o, t)) continue;
      const MPI_Datatype type = types_[t].type;
      const int count = (t + o) % 2 ? kElements : 1;
      const MPI_Aint at = place(window, next, slot(t, o));
      /* MPI_NO_OP ignores the origin buffer (section 12.3.4). */
      char* mine = ops_[o].op == MPI_NO_OP ? NULL : out + slot(t, o);
      char* fetched = in + slot(t, o);
      for (int i = 0; mine != NULL && i < kElements; ++i)
        types_[t].put(mine + (size_t)i * types_[t].bytes, contribution(rank_, i), rank_ + 1);
      if (with_requests)
        DO(MPI_Rget_accumulate(mine, mine == NULL ? 0 : count, type, fetched, count, type, next, at, count,
                               type, ops_[o].op, window->win, &requests[open++]));
      else if (count == 1)
        DO(MPI_Fetch_and_op(mine, fetched, type, next, at, ops_[o].op, window->win));
      else
        DO(MPI_Get_accumulate(mine, mine == NULL ? 0 : count, type, fetched, count, type, next, at, count,
                              type, ops_[o].op, window->win));
    }
  }
  DO(MPI_Waitall(open, requests, MPI_STATUSES_IGNORE));
  epoch_end(window, form_);
  for (int t = 0; t < kTypes; ++t) {
    for (int o = 0; o < kOps; ++o) {
      for (int i = 0; takes(o, t) && i < kElements; ++i) {
        const int touched = i < ((t + o) % 2 ? kElements : 1);
        Value want = before(t, i);
        if (touched) expect(window, in + slot(t, o), t, o, i, want, "fetched");
        if (touched) want = applied(o, types_[t].get_of(contribution(previous, i), previous + 1), want);
        expect(window, window->memory + slot(t, o), t, o, i, want, "after fetching");
      }
    }
  }
  free(requests);
  free(out);
  free(in);
}

/* Accumulates from one origin to one location take effect in program order (section 12.7.2). */
static void test_order(Window* window) {
  enum { kSteps = 20 };
  const int next = (rank_ + 1) % size_;
  int out[kSteps], in[kSteps];
  own_begin(window);
  *(int*)(void*)window->memory = 5000;
  own_end(window);
  epoch_begin(window, form_);
  for (int i = 0; i < kSteps; ++i) {
    out[i] = 100 + i;
    in[i] = -1;
    if (i % 3 == 2)
      DO(MPI_Accumulate(&out[i], 1, MPI_INT, next, place(window, next, 0), 1, MPI_INT, MPI_REPLACE,
                        window->win));
    else if (i % 3 == 1)
      DO(MPI_Get_accumulate(&out[i], 1, MPI_INT, &in[i], 1, MPI_INT, next, place(window, next, 0), 1, MPI_INT,
                            MPI_REPLACE, window->win));
    else
      DO(MPI_Fetch_and_op(&out[i], &in[i], MPI_INT, next, place(window, next, 0), MPI_REPLACE, window->win));
  }
  epoch_end(window, form_);
  for (int i = 0; i < kSteps; ++i)
    if (i % 3 != 2) CHECK(in[i] == (i == 0 ? 5000 : 99 + i), "step %d replaced %d", i, in[i]);
  CHECK(*(int*)(void*)window->memory == 99 + kSteps, "%d remains", *(int*)(void*)window->memory);
}

/* For each supported type: a swap that succeeds and one that fails; then all ranks compete for one word. */
static void test_compare_and_swap(Window* window) {
  const int next = (rank_ + 1) % size_;
  static char mine_[2][kTypes][32], expected_[2][kTypes][32], found_[2][kTypes][32];
  fill(window);
  memset(found_, 0x55, sizeof found_);
  epoch_begin(window, form_);
  for (int t = 0; t < kTypes; ++t) {
    for (int hits = 0; swaps(t) && hits < 2; ++hits) {
      types_[t].put(mine_[hits][t], 1 - hits, 0);
      types_[t].put(expected_[hits][t], hits, 0); /* element 0 is 1 */
      DO(MPI_Compare_and_swap(mine_[hits][t], expected_[hits][t], found_[hits][t], types_[t].type, next,
                              place(window, next, slot(t, hits)), window->win));
    }
  }
  epoch_end(window, form_);
  for (int t = 0; t < kTypes; ++t) {
    for (int hits = 0; swaps(t) && hits < 2; ++hits) {
      expect(window, found_[hits][t], t, hits, 0, (Value){1, 0}, "found");
      expect(window, window->memory + slot(t, hits), t, hits, 0, (Value){1 - hits, 0}, "swapped");
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const int home = size_ - 1, mine = 1000 + rank_, free_mark = -7;
  int found = 0, winners = 0;
  own_begin(window);
  *(int*)(void*)window->memory = free_mark;
  own_end(window);
  epoch_begin(window, form_);
  DO(MPI_Compare_and_swap(&mine, &free_mark, &found, MPI_INT, home, place(window, home, 0), window->win));
  epoch_end(window, form_);
  const int won = found == free_mark;
  int winner = won ? mine : 0, all = 0;
  MPI_Allreduce(&won, &winners, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(&winner, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(winners == 1, "%d ranks have won", winners);
  CHECK(won || found == all, "the winner is %d, and was found to be %d", all, found);
  if (rank_ == home) CHECK(*(int*)(void*)window->memory == all, "%d is there", *(int*)(void*)window->memory);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Every second element of this rank, to scattered places at the target; fetched values go to other places. */
static void test_derived(Window* window) {
  enum { kCount = 4, kRoom = 16 };
  static const int there[kCount] = {9, 2, 3, 12};
  const int next = (rank_ + 1) % size_;
  double out[2 * kCount], in[3 * kCount];
  MPI_Datatype second, places, third;
  MPI_Type_vector(kCount, 1, 2, MPI_DOUBLE, &second);
  MPI_Type_create_indexed_block(kCount, 1, there, MPI_DOUBLE, &places);
  MPI_Type_vector(kCount, 1, 3, MPI_DOUBLE, &third);
  MPI_Type_commit(&second);
  MPI_Type_commit(&places);
  MPI_Type_commit(&third);
  own_begin(window);
  double* own = (double*)(void*)window->memory;
  for (int i = 0; i < kRoom; ++i) own[i] = i;
  own_end(window);
  for (int i = 0; i < 2 * kCount; ++i) out[i] = 10 * (i + 1);
  for (int i = 0; i < 3 * kCount; ++i) in[i] = -1;
  epoch_begin(window, form_);
  /* Operations from this origin are in order, and no other origin accesses this rank. */
  DO(MPI_Accumulate(out, 1, second, next, place(window, next, 0), 1, places, MPI_SUM, window->win));
  DO(MPI_Get_accumulate(out, 1, second, in, 1, third, next, place(window, next, 0), 1, places, MPI_PROD,
                        window->win));
  epoch_end(window, form_);
  for (int i = 0; i < kRoom; ++i) {
    double want = i;
    for (int k = 0; k < kCount; ++k) {
      if (there[k] == i) want = (i + out[2 * k]) * out[2 * k];
    }
    CHECK(own[i] == want, "number %d is %g, not %g", i, own[i], want);
  }
  for (int i = 0; i < 3 * kCount; ++i) {
    const double want = i % 3 == 0 ? there[i / 3] + out[2 * (i / 3)] : -1;
    CHECK(in[i] == want, "fetched number %d is %g, not %g", i, in[i], want);
  }
  MPI_Type_free(&second);
  MPI_Type_free(&places);
  MPI_Type_free(&third);
}

/* Longer than the longest message: two sums of all ranks in one place. */
static void test_long(Window* window) {
  const int count = (int)(window->bytes / (MPI_Aint)sizeof(int)), target = size_ / 2;
  int* out = malloc((size_t)window->bytes);
  const int* own = (const int*)(const void*)window->memory;
  own_begin(window);
  memset(window->memory, 0, (size_t)window->bytes);
  own_end(window);
  for (int i = 0; i < count; ++i) out[i] = i * (rank_ + 1);
  epoch_begin(window, form_);
  for (int twice = 0; twice < 2; ++twice)
    DO(MPI_Accumulate(out, count, MPI_INT, target, place(window, target, 0), count, MPI_INT, MPI_SUM,
                      window->win));
  epoch_end(window, form_);
  for (int i = 0; i < count; ++i) {
    const int want = rank_ == target ? i * size_ * (size_ + 1) : 0;
    CHECK(own[i] == want, "number %d is %d, not %d", i, own[i], want);
  }
  free(out);
}

static void test_kinds(Window* window) {
  test_all_to_one(window);
  MPI_Barrier(MPI_COMM_WORLD);
  test_fetching(window);
  MPI_Barrier(MPI_COMM_WORLD);
  test_order(window);
  MPI_Barrier(MPI_COMM_WORLD);
  test_compare_and_swap(window);
  test_derived(window);
  MPI_Barrier(MPI_COMM_WORLD);
  test_long(window);
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  /* Every kind of synchronization on a few kinds of window, and every kind of window with one of them. */
  for (Kind kind = kOnStatic; kind < kKinds; ++kind)
    for (form_ = kFence; form_ < kForms; ++form_)
      if (kind == kAllocate || form_ == (Form)(kind % kForms))
        with_window(kind, (MPI_Aint)kTypes * kOps * kSlotBytes, 0, test_kinds);
  MPI_Finalize();
  return 0;
}
