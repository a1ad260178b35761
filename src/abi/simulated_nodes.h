// Simulated nodes, for tests: ranks that share one machine run the code for jobs on several machines (groups
// of ranks, hierarchical collectives, MPI_Comm_split_type). Messages still use shared memory. Called once
// when the library starts.
#pragma once

#include "launch/bootstrap.h"

namespace hearth::abi {

/// Divides the ranks of a job on one machine as HEARTH_SIMULATED_NODES says; no effect if it is not set.
void simulate_nodes(launch::Bootstrap& job);

}  // namespace hearth::abi
