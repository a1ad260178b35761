// mpiexec's part of --check in a build without it: a request for checks is an error.
#include "base/left_out.h"
#include "base/param.h"
#include "launch/job_check.h"

namespace hearth::launch {

Status JobCheck::open(const JobSpec& job, int, JobCheck&) {
  const std::string& how = !job.check.empty() ? job.check : param::get_text(param::Id::check);
  if (how.empty() || how == "no") return {};
  return left_out("mpiexec --check", "HEARTH_WITH_CHECK");
}

void JobCheck::add_to(std::vector<std::string>&) const {}

void JobCheck::note_deadlock(const std::string&) const {}

int JobCheck::finish(int exit_code, bool) {
  return exit_code;
}

}  // namespace hearth::launch
