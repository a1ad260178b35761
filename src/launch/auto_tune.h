// With HEARTH_AUTO_TUNE=yes: after a successful job at a terminal, on a machine without a profile, mpiexec
// starts `hearth tune --background` and exits. That process checks whether the machine is idle, measures for
// some seconds at the lowest priority, and writes the profile or nothing.
#pragma once

#include "topo/machine.h"

namespace hearth::launch {

/// Starts the measurement if these conditions hold. Does not wait and prints nothing, because the job has
/// succeeded.
void tune_in_background(const topo::Machine& machine, bool has_profile, char** environment);

}  // namespace hearth::launch
