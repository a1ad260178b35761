/* Ranks 0 and 1 exchange long messages, and meanwhile the kernel starts to refuse process_vm_readv,
 * process_vm_writev or both in rank 1, as in a sandbox that a library enters late: no data are lost. The
 * argument selects the refused calls: read, write or both. Earlier messages must use single copy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../refusal.h"
#include "mpi.h"

enum { kBytes = 700 * 1000, kRounds = 12, kDeniedAt = 6 };

static void deny(int number) {
  if (refuse_call(number, EPERM)) return;
  perror("denied_later: this machine takes no filter");
  MPI_Abort(MPI_COMM_WORLD, 2);
}

/* Messages by single copy, as their receiver counts them. */
static MPI_T_pvar_session session;
static MPI_T_pvar_handle counter;

static void start_counting(void) {
  int level;
  int index;
  int count;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
  if (MPI_T_pvar_get_index("p2p_single_copies", MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 3);
  MPI_T_pvar_session_create(&session);
  MPI_T_pvar_handle_alloc(session, index, NULL, &counter, &count);
  MPI_T_pvar_start(session, counter);
}

static unsigned long long single_copies(void) {
  unsigned long long value = 0;
  MPI_T_pvar_read(session, counter, &value);
  return value;
}

static unsigned char pattern(int round, int from, size_t at) {
  return (unsigned char)(at * 7 + at / 251 + (size_t)round * 31 + (size_t)from * 101);
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  start_counting();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* which = argc > 1 ? argv[1] : "both";
  unsigned char* out = malloc(kBytes);
  unsigned char* in = malloc(kBytes);
  unsigned long long before = 0;
  for (int round = 0; round < kRounds; ++round) {
    if (round == kDeniedAt) {
      before = single_copies();
      if (rank == 1 && strcmp(which, "write") != 0) deny(SYS_process_vm_readv);
      if (rank == 1 && strcmp(which, "read") != 0) deny(SYS_process_vm_writev);
    }
    for (size_t at = 0; at < kBytes; ++at) out[at] = pattern(round, rank, at);
    memset(in, 0, kBytes);
    MPI_Sendrecv(out, kBytes, MPI_BYTE, 1 - rank, round, in, kBytes, MPI_BYTE, 1 - rank, round,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (size_t at = 0; at < kBytes; ++at) {
      if (in[at] != pattern(round, 1 - rank, at)) {
        fprintf(stderr, "rank %d, round %d: byte %zu is %d\n", rank, round, at, in[at]);
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
    }
  }
  if (before < kDeniedAt / 2) {
    fprintf(stderr, "rank %d: only %llu messages were copied once while nothing was refused\n", rank, before);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  /* Rank 0 is still allowed to copy: at least half of the messages use single copy. */
  const unsigned long long after = single_copies() - before;
  unsigned long long sum = 0;
  MPI_Allreduce(&after, &sum, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && sum < (kRounds - kDeniedAt) / 2) {
    fprintf(stderr, "after the refusal only %llu messages were copied once\n", sum);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  free(out);
  free(in);
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
  MPI_Finalize();
  return 0;
}
