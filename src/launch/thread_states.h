// Finds threads of a waiting rank that may still make an MPI call without being woken by another thread.
#pragma once

#include <vector>

namespace hearth::launch {

/// The number of threads of the process, except those in `waiting`, that may continue without another thread
/// of the process. Threads that sleep in a futex without a time limit do not count (pthread_join, condition
/// variables, idle workers). 0 if nothing can be read.
int count_acting_threads(int pid, const std::vector<int>& waiting);

}  // namespace hearth::launch
