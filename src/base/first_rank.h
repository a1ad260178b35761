// Diagnostics about the environment, which is the same for all ranks: printed by rank 0 only.
#pragma once

namespace hearth {

/// Whether this process is rank 0 of its job, or no rank: by the variable of mpiexec, of PMIx or of PMI,
/// before MPI_Init has set up the job.
bool is_first_rank();

}  // namespace hearth
