/* Processes measure their distances when ranks may be reordered if HEARTH_REORDER_MEASURED, whose value is
 * also the argument, requires it; each pair once, whichever call comes first; afterwards MPI_Cart_map uses
 * the results. At least three ranks. */
#include "../coll/check.h"

static MPI_T_pvar_session session;
static MPI_T_pvar_handle lines;

/* Ring slots that this process has sent so far. */
static unsigned long long slots_sent(void) {
  unsigned long long value = 0;
  CHECK(MPI_T_pvar_read(session, lines, &value) == MPI_SUCCESS, "the counter cannot be read");
  return value;
}

/* Measuring a pair takes about 100 ring slots of each process; everything else in the calls below takes far
 * fewer. */
static void expect(int measured_with, unsigned long long before, const char* what) {
  const unsigned long long sent = slots_sent() - before;
  const unsigned long long each = 90;
  CHECK(sent >= (unsigned)measured_with * each && sent < (unsigned)(measured_with + 1) * each,
        "%s: %llu lines, though there were %d to measure with", what, sent, measured_with);
}

static MPI_Comm make_row(MPI_Comm from, int reorder) {
  int size;
  MPI_Comm_size(from, &size);
  const int periods = 0;
  MPI_Comm row;
  MPI_Cart_create(from, 1, &size, &periods, reorder, &row);
  return row;
}

int main(int argc, char** argv) {
  const int measures = strcmp(argv[1], "always") == 0;
  int provided, index, count, rank, new_rank;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_T_pvar_session_create(&session);
  MPI_T_pvar_get_index("shm_ring_slots_sent", MPI_T_PVAR_CLASS_COUNTER, &index);
  MPI_T_pvar_handle_alloc(session, index, NULL, &lines, &count);
  MPI_T_pvar_start(session, lines);

  unsigned long long before = slots_sent();
  MPI_Comm row = make_row(MPI_COMM_WORLD, 0);
  expect(0, before, "no reordering");
  MPI_Comm_rank(row, &rank);
  CHECK(rank == rank_, "rank %d without reordering", rank);
  MPI_Comm_free(&row);

  /* All ranks but the last one, then all: only the pairs with the last rank remain to be measured. */
  if (size_ > 3) {
    MPI_Comm most;
    MPI_Comm_split(MPI_COMM_WORLD, rank_ < size_ - 1 ? 0 : MPI_UNDEFINED, 0, &most);
    if (most != MPI_COMM_NULL) {
      before = slots_sent();
      row = make_row(most, 1);
      expect(measures ? size_ - 2 : 0, before, "a part");
      MPI_Comm_free(&row);
      MPI_Comm_free(&most);
    }
  }
  before = slots_sent();
  row = make_row(MPI_COMM_WORLD, 1);
  expect(!measures ? 0 : size_ > 3 && rank_ < size_ - 1 ? 1 : size_ - 1, before, "all");
  before = slots_sent();
  const int periods = 0;
  MPI_Cart_map(MPI_COMM_WORLD, 1, &size_, &periods, &new_rank);
  MPI_Comm_rank(row, &rank);
  CHECK(slots_sent() == before, "a local call sends");
  CHECK(new_rank == rank, "mapped to %d, but the rank is %d", new_rank, rank);
  MPI_Comm_free(&row);

  const int next = (rank_ + 1) % size_, last = (rank_ + size_ - 1) % size_;
  MPI_Comm ring;
  before = slots_sent();
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &last, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 1, &ring);
  expect(0, before, "a second time");
  MPI_Comm_free(&ring);

  MPI_T_pvar_handle_free(session, &lines);
  MPI_T_pvar_session_free(&session);
  MPI_Finalize();
  MPI_T_finalize();
  return 0;
}
