// The measuring that nobody has asked for: after a good job at a terminal, where the machine has no profile,
// mpiexec starts `hearth tune --unasked` and goes. That looks whether the machine is idle, measures for some
// seconds at the lowest priority, and leaves the profile behind or nothing. For mpiexec, in its one thread.
#pragma once

#include "topo/machine.h"

namespace hearth::launch {

/// Starts it, where all of that is so. Never waits, and says nothing: the job is over and was good.
void tune_unasked(const topo::Machine& machine, bool has_profile, char** environment);

}  // namespace hearth::launch
