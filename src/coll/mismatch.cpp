#include "coll/mismatch.h"

#include "mpi-ext.h"
#include "mpi.h"

namespace hearth::coll {

Status mismatch_error(const MismatchedCall& other, const MismatchedCall& own) {
  const bool truncates = other.kind == own.kind && other.bytes > own.bytes;
  return fail(
      truncates ? MPI_ERR_TRUNCATE : MPI_ERR_OTHER,
      "rank %d is in %s of %lld bytes, this one (%d) in %s of %lld. Likely cause: arguments or order of "
      "calls differ. Remedy: the same call with as much data on all ranks",
      other.rank, name_of(other.kind), static_cast<long long>(other.bytes), own.rank, name_of(own.kind),
      static_cast<long long>(own.bytes));
}

Status mismatch_elsewhere(const MismatchedCall& other, const MismatchedCall& own, int rank) {
  return fail(
      MPI_ERR_OTHER,
      "rank %d is in %s of %lld bytes, rank %d in %s of %lld, and so not where this one (%d) awaits it. "
      "Likely cause: arguments or order of calls differ. Remedy: the same call with as much data on "
      "all ranks",
      other.rank, name_of(other.kind), static_cast<long long>(other.bytes), own.rank, name_of(own.kind),
      static_cast<long long>(own.bytes), rank);
}

Status out_of_step(int rank) {
  return fail(
      MPI_ERR_OTHER,
      "after an earlier error rank %d and this one are not at the same collective any more. Likely "
      "cause: their calls differed before, which was reported then. Remedy: correct those, or go on with "
      "another communicator",
      rank);
}

Status died_elsewhere(PeerIndex process) {
  return fail(MPIX_ERR_PROC_FAILED,
              "rank %d of MPI_COMM_WORLD has died, as other ranks of this machine have found out", process);
}

}  // namespace hearth::coll
