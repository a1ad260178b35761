// mpiexec's part of --profile and --trace in a build without them: a request for a report is an error.
#include "base/left_out.h"
#include "launch/job_report.h"

namespace hearth::launch {

Status JobReport::open(const JobSpec& job, int, JobReport&) {
  if (job.profile_files.empty() && job.trace_file.empty()) return {};
  return left_out(job.trace_file.empty() ? "mpiexec --profile" : "mpiexec --trace", "HEARTH_WITH_PROFILE");
}

void JobReport::write(const JobSpec&, const shm::Segment&, int) const {}

}  // namespace hearth::launch
