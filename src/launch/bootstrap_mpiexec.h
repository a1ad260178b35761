// A rank that our own mpiexec started: evaluates HEARTH_SEGMENT and HEARTH_RANK. Called once, by bootstrap().
#pragma once

#include "base/status.h"
#include "launch/bootstrap.h"

namespace hearth::launch {

/// Whether mpiexec's variables are set.
bool mpiexec_named();
/// Attaches to the job that the variables name. A program that a rank started, and that has no right to the
/// descriptor, becomes a job of one rank.
Status attach_to_mpiexec(Bootstrap& result);

/// Creates a job of one rank.
Status become_singleton(Bootstrap& result);

}  // namespace hearth::launch
