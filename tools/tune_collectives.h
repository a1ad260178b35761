// The part of `hearth tune` that is about collectives: up to which length every rank reduces a whole vector,
// and among how many ranks each reads what all others say. Measured with a processor for each rank, by
// libexec/hearth/tune_collective_probe. Called by one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/param.h"
#include "base/status.h"
#include "installation.h"
#include "progress.h"
#include "tune/profile.h"

namespace hearth::tools {

/// The limit's value where nobody has set one.
uint64_t standard_of(param::Id limit);

/// How many comparisons that takes on a machine with so many processors.
size_t collective_questions(int processors);

/// Measures each as long as `question_us`, and nothing more after the deadline; adds what was found to the
/// profile.
Status tune_collectives(const Installation& place, int processors, uint64_t question_us, uint64_t deadline_ns,
                        Progress& progress, tune::Profile& profile);

}  // namespace hearth::tools
