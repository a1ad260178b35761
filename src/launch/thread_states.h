// Threads of a rank that do not wait in MPI: whether one of them may go on to call it by itself.
#pragma once

#include <vector>

namespace hearth::launch {

/// The number of threads of the process, but for those in `waiting`, that may go on without another thread of
/// the process: all but those that sleep in a futex without a time limit (pthread_join, condition variables,
/// idle workers). 0 where nothing can be read.
int count_acting_threads(int pid, const std::vector<int>& waiting);

}  // namespace hearth::launch
