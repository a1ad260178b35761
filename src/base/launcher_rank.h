// The rank of this process as the launcher's environment has it: known before MPI_Init has set up the job.
#pragma once

namespace hearth {

/// The text of the variable that mpiexec, PMIx, PMI or Slurm sets; nullptr if no launcher started this
/// process.
const char* rank_from_launcher();

/// Whether this process is rank 0, or no rank. All ranks have the same settings in their environment, so only
/// this one reports errors in them.
bool is_first_rank();

}  // namespace hearth
