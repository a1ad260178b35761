// Finding a job that runs: its segment is among the open files of mpiexec and of every rank. Nothing but
// looking, and only at processes of the same user.
#pragma once

#include <vector>

#include "base/status.h"
#include "shm/segment.h"

namespace hearth::launch {

struct RunningJob {
  int pid = 0;           // of a process that has it open: mpiexec's where that is one
  shm::Segment segment;  // for reading only
};

/// The job of a process: mpiexec or a rank.
Status find_job(int pid, RunningJob& job);
/// All jobs of this user.
std::vector<RunningJob> find_jobs();

}  // namespace hearth::launch
