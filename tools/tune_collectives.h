// The part of `hearth tune` for collectives: up to which length every rank reduces a whole vector, and up to
// how many ranks each rank reads the slots of all others. Measured with one processor per rank, by
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

/// The limit's default value.
uint64_t standard_of(param::Id limit);

/// The number of comparisons on a machine with this number of processors.
size_t collective_questions(int processors);

/// Measures each limit for `question_us`, and none after the deadline. Adds the findings to the profile.
Status tune_collectives(const Installation& place, int processors, uint64_t question_us, uint64_t deadline_ns,
                        Progress& progress, tune::Profile& profile);

}  // namespace hearth::tools
