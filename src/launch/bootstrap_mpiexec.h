// A rank of our own mpiexec: what HEARTH_SEGMENT and HEARTH_RANK say. Called once, by bootstrap().
#pragma once

#include "base/status.h"
#include "launch/bootstrap.h"

namespace hearth::launch {

/// Whether mpiexec's variables are there.
bool mpiexec_named();
/// Attaches to the job that they name; a program that a rank started, and that has no right to the
/// descriptor, becomes a job of one.
Status attach_to_mpiexec(Bootstrap& result);

/// A job of one, made by itself.
Status become_singleton(Bootstrap& result);

}  // namespace hearth::launch
