#include "p2p/fatal_errors.h"

#include "mpi.h"

namespace hearth::p2p {

void FatalErrors::out_of_memory(const char* what, size_t bytes, PeerIndex peer) const {
  fatal_(fail(
      MPI_ERR_NO_MEM,
      "no memory for %s of %zu bytes between process %d and process %d; %zu messages wait unmatched. Likely "
      "cause: the receiver lags behind. Remedy: receive earlier, or set HEARTH_P2P_UNEXPECTED_BYTES_MAX "
      "lower",
      what, bytes, self_, peer, unmatched_.size()));
  __builtin_unreachable();
}

void FatalErrors::out_of_memory(const char* what) const {
  fatal_(
      fail(MPI_ERR_NO_MEM,
           "no memory for %s in process %d, which cannot be repeated or left out. Remedy: give the process "
           "more memory (ulimit -v, control group)",
           what, self_));
  __builtin_unreachable();
}

}  // namespace hearth::p2p
