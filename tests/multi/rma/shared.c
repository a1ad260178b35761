/* Shared memory windows (MPI 5.0 sections 12.2.3, 12.4): a ring buffer between neighbours with plain loads
 * and stores, made visible by MPI_Win_sync and messages; loads and stores together with MPI calls. Any number
 * of ranks. */
#include "window.h"

enum { kSlots = 16, kRounds = 40 };

typedef struct {
  long head, tail; /* of the producer and of the consumer; each has a copy of the other's word */
  long slots[kSlots];
} Ring;

static MPI_Comm machine_comm_;
static int machine_rank_, machine_size_;

static void* memory_of(MPI_Win win, int rank) {
  MPI_Aint bytes;
  int unit;
  void* base = NULL;
  DO(MPI_Win_shared_query(win, rank, &bytes, &unit, &base));
  return base;
}

/* Each rank writes into the next rank's memory and reads its own, with a barrier between. */
static void test_barriers(MPI_Win win, Ring* mine) {
  Ring* next = memory_of(win, (machine_rank_ + 1) % machine_size_);
  const int previous = (machine_rank_ + machine_size_ - 1) % machine_size_;
  DO(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kSlots; ++i) next->slots[i] = 1000 * round + 10 * i + machine_rank_;
    DO(MPI_Win_sync(win));
    DO(MPI_Barrier(machine_comm_));
    DO(MPI_Win_sync(win));
    for (int i = 0; i < kSlots; ++i)
      CHECK(mine->slots[i] == 1000 * round + 10 * i + previous, "round %d: slot %d is %ld", round, i,
            mine->slots[i]);
    DO(MPI_Win_sync(win));
    DO(MPI_Barrier(machine_comm_));
  }
  DO(MPI_Win_unlock_all(win));
}

/* Each rank produces for the next one. Head and tail are read by MPI_Fetch_and_op and written by
 * MPI_Accumulate, which are atomic; the slots are accessed by loads and stores. */
static void test_ring(MPI_Win win, Ring* mine) {
  const int next = (machine_rank_ + 1) % machine_size_,
            previous = (machine_rank_ + machine_size_ - 1) % machine_size_;
  const long items = 3 * kSlots + machine_size_;
  Ring* theirs = memory_of(win, next);
  DO(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
  mine->head = mine->tail = 0;
  DO(MPI_Win_sync(win));
  DO(MPI_Barrier(machine_comm_));
  long produced = 0, consumed = 0;
  while (produced < items || consumed < items) {
    long head = -1, tail = -1;
    DO(MPI_Fetch_and_op(NULL, &tail, MPI_LONG, next, offsetof(Ring, tail), MPI_NO_OP, win));
    DO(MPI_Fetch_and_op(NULL, &head, MPI_LONG, machine_rank_, offsetof(Ring, head), MPI_NO_OP, win));
    DO(MPI_Win_flush_all(win));
    CHECK(tail >= 0 && tail <= produced && head >= consumed && head <= items, "head %ld, tail %ld", head,
          tail);
    DO(MPI_Win_sync(win));
    int idle = 1;
    for (; produced < items && produced < tail + kSlots; ++produced, idle = 0)
      theirs->slots[produced % kSlots] = 7 * produced + machine_rank_;
    for (; consumed < head; ++consumed, idle = 0)
      CHECK(mine->slots[consumed % kSlots] == 7 * consumed + previous, "item %ld is %ld", consumed,
            mine->slots[consumed % kSlots]);
    DO(MPI_Win_sync(win));
    DO(MPI_Accumulate(&produced, 1, MPI_LONG, next, offsetof(Ring, head), 1, MPI_LONG, MPI_REPLACE, win));
    DO(MPI_Accumulate(&consumed, 1, MPI_LONG, machine_rank_, offsetof(Ring, tail), 1, MPI_LONG, MPI_REPLACE,
                      win));
    DO(MPI_Win_flush_all(win));
    if (idle) pause_us(20);
  }
  DO(MPI_Win_unlock_all(win));
  DO(MPI_Barrier(machine_comm_));
}

/* Loads see a put; gets see a store. */
static void test_beside_calls(MPI_Win win, Ring* mine) {
  const int next = (machine_rank_ + 1) % machine_size_, after = (machine_rank_ + 2) % machine_size_;
  const int previous = (machine_rank_ + machine_size_ - 1) % machine_size_;
  const Ring* two_on = memory_of(win, after);
  for (int round = 0; round < kRounds; ++round) {
    const long out = 50 * round + machine_rank_;
    long in = -1;
    mine->slots[1] = -out;
    DO(MPI_Win_fence(0, win));
    DO(MPI_Put(&out, 1, MPI_LONG, next, offsetof(Ring, slots), 1, MPI_LONG, win));
    DO(MPI_Get(&in, 1, MPI_LONG, next, offsetof(Ring, slots) + sizeof(long), 1, MPI_LONG, win));
    DO(MPI_Win_fence(0, win));
    CHECK(mine->slots[0] == 50 * round + previous, "round %d: put %ld", round, mine->slots[0]);
    CHECK(two_on->slots[0] == 50 * round + next, "round %d: another one's memory has %ld", round,
          two_on->slots[0]);
    CHECK(in == -(50 * round + next), "round %d: got %ld", round, in);
    DO(MPI_Win_fence(0, win));
  }
  DO(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

/* One rank owns all memory, as in programs that share tables; each rank fills its part. */
static void test_one_owner(void) {
  const int each = 1000, count = machine_rank_ == 0 ? each * machine_size_ : 0;
  int *mine = NULL, *table;
  MPI_Win win;
  DO(MPI_Win_allocate_shared(count * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, machine_comm_, &mine,
                             &win));
  table = memory_of(win, MPI_PROC_NULL);
  CHECK(table != NULL && table == memory_of(win, 0), "the memory of MPI_PROC_NULL is not that of rank 0");
  DO(MPI_Win_fence(0, win));
  for (int i = 0; i < each; ++i) table[each * machine_rank_ + i] = 3 * (each * machine_rank_ + i);
  DO(MPI_Win_fence(0, win));
  for (int i = 0; i < each * machine_size_; ++i) CHECK(table[i] == 3 * i, "number %d is %d", i, table[i]);
  DO(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  DO(MPI_Win_free(&win));
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  DO(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine_comm_));
  MPI_Comm_rank(machine_comm_, &machine_rank_);
  MPI_Comm_size(machine_comm_, &machine_size_);
  for (int apart = 0; apart < 2; ++apart) {
    Ring* mine = NULL;
    MPI_Win win;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", apart ? "true" : "false");
    DO(MPI_Win_allocate_shared(sizeof(Ring), 1, info, machine_comm_, &mine, &win));
    MPI_Info_free(&info);
    test_barriers(win, mine);
    test_ring(win, mine);
    test_beside_calls(win, mine);
    DO(MPI_Win_free(&win));
  }
  test_one_owner();
  MPI_Comm_free(&machine_comm_);
  MPI_Finalize();
  return 0;
}
