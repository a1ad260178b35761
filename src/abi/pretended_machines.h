// Several machines where there is one, for tests: what the library does for jobs on several (groups of ranks,
// collectives in levels, MPI_Comm_split_type) it then does among ranks that share memory all the same.
// Messages go their usual way. Called once when the library starts.
#pragma once

#include "launch/bootstrap.h"

namespace hearth::abi {

/// Divides the ranks of a job on one machine as HEARTH_PRETEND_MACHINES says; nothing where it says nothing.
void pretend_machines(launch::Bootstrap& job);

}  // namespace hearth::abi
