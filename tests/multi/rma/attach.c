/* Accesses to a dynamic window that span several attached regions: every byte accessed has to be attached,
 * but not in one piece (MPI 5.0 section 12.2.4). Accesses to this rank and to the next one, in static memory
 * and in memory from MPI_Alloc_mem. Any number of ranks. */
#include "window.h"

enum { piece = 100, pieces = 4, all = piece * pieces };

static int static_memory_[all];

/* A window whose memory is attached in pieces, out of order; on Hearth with an empty region between two of
 * them. */
static MPI_Win attach_in_pieces(int* memory) {
  static const int order[pieces] = {2, 0, 3, 1};
  MPI_Win win;
  DO(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  DO(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  for (int i = 0; i < pieces; ++i) {
    DO(MPI_Win_attach(win, memory + order[i] * piece, (MPI_Aint)(piece * sizeof(int))));
  }
  if (promised()) DO(MPI_Win_attach(win, memory + 2 * piece, 0));
  return win;
}

static MPI_Aint address_at(int target, int* memory) {
  MPI_Aint own, addresses[kRanksMax];
  MPI_Get_address(memory, &own);
  DO(MPI_Allgather(&own, 1, MPI_AINT, addresses, 1, MPI_AINT, MPI_COMM_WORLD));
  return addresses[target];
}

/* Puts, accumulates and gets `count` elements of `type` at `place`, with the values 1000 + i. */
static void access_all(MPI_Win win, int target, MPI_Aint place, int count, MPI_Datatype type, int values) {
  int sent[all], got[all], one[all];
  for (int i = 0; i < all; ++i) {
    sent[i] = 1000 + i;
    got[i] = -1;
    one[i] = 1;
  }
  DO(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
  DO(MPI_Put(sent, values, MPI_INT, target, place, count, type, win));
  DO(MPI_Win_flush(target, win));
  DO(MPI_Accumulate(one, values, MPI_INT, target, place, count, type, MPI_SUM, win));
  DO(MPI_Win_flush(target, win));
  DO(MPI_Get(got, values, MPI_INT, target, place, count, type, win));
  DO(MPI_Win_unlock(target, win));
  for (int i = 0; i < values; ++i) CHECK(got[i] == 1001 + i, "value %d of rank %d: %d", i, target, got[i]);
}

/* The error class of a put, whether the put itself or the end of the epoch reports it. */
static int class_of_put(MPI_Win win, int target, MPI_Aint place, int count) {
  static const int sent[all];
  DO(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
  const int put = MPI_Put(sent, count, MPI_INT, target, place, count, MPI_INT, win);
  const int unlock = MPI_Win_unlock(target, win);
  return class_of(put != MPI_SUCCESS ? put : unlock);
}

static void test_on(int* memory, int target) {
  MPI_Win win = attach_in_pieces(memory);
  const MPI_Aint place = address_at(target, memory);
  MPI_Datatype ends;
  MPI_Barrier(MPI_COMM_WORLD);
  access_all(win, target, place, all, MPI_INT, all);
  MPI_Barrier(MPI_COMM_WORLD);

  if (promised()) DO(MPI_Win_detach(win, memory + 2 * piece)); /* the empty region */

  /* Without the second piece: the first and the last two pieces stay accessible, also with one datatype. */
  DO(MPI_Win_detach(win, memory + piece));
  MPI_Barrier(MPI_COMM_WORLD);
  access_all(win, target, place + (MPI_Aint)(2 * piece * sizeof(int)), 2 * piece, MPI_INT, 2 * piece);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_vector(2, piece, 2 * piece, MPI_INT, &ends);
  MPI_Type_commit(&ends);
  access_all(win, target, place, 1, ends, 2 * piece);
  MPI_Type_free(&ends);
  MPI_Barrier(MPI_COMM_WORLD);

  /* Memory that is not attached is refused if the target checks accesses, but not if it is reached by
   * stores. */
  if (promised() && memory == static_memory_) {
    const MPI_Aint end = place + (MPI_Aint)(all * sizeof(int));
    CHECK(class_of_put(win, target, place, all) == MPI_ERR_RMA_RANGE, "a put over a gap");
    CHECK(class_of_put(win, target, place, piece + 1) == MPI_ERR_RMA_RANGE, "a put into the gap");
    CHECK(class_of_put(win, target, end - (MPI_Aint)sizeof(int), 2) == MPI_ERR_RMA_RANGE, "past the end");
    CHECK(class_of_put(win, target, end, 1) == MPI_ERR_RMA_RANGE, "behind the end");
    CHECK(class_of_put(win, target, place, piece) == MPI_SUCCESS, "a put up to the gap");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < pieces; ++i) {
    if (i != 1) DO(MPI_Win_detach(win, memory + i * piece));
  }
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  int* allocated;
  MPI_Alloc_mem(all * sizeof(int), MPI_INFO_NULL, &allocated);
  for (int distance = 0; distance < 2; ++distance) {
    test_on(static_memory_, (rank_ + distance) % size_);
    test_on(allocated, (rank_ + distance) % size_);
  }
  MPI_Free_mem(allocated);
  MPI_Finalize();
  return 0;
}
