// mpiexec without the analysis of standstills: --why is an error, waits are not examined, and the quit signal
// prints the state of each rank.
#include "launch/why.h"
#include "base/left_out.h"
#include "launch/job.h"

namespace hearth::launch {

Status check_why_is_built() {
  return left_out("mpiexec --why", "HEARTH_WITH_WHY");
}

void Job::say_why() {
  say_states(running_words("rank") + ":");
}

void Job::look_for_standstill() {
  why_at_ = 0;
}

}  // namespace hearth::launch
