// Finds running jobs: mpiexec and every rank have the job's segment open. Read-only, and limited to processes
// of the same user.
#pragma once

#include <vector>

#include "base/status.h"
#include "shm/segment.h"

namespace hearth::launch {

struct RunningJob {
  int pid = 0;           // a process that has the segment open: mpiexec if possible
  shm::Segment segment;  // for reading only
};

/// The job of a process, which is mpiexec or a rank.
Status find_job(int pid, RunningJob& job);
/// All jobs of this user.
std::vector<RunningJob> find_jobs();

}  // namespace hearth::launch
