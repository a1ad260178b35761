// Selects the job for `hearth why` and `hearth top`, and converts their results to JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "base/status.h"
#include "launch/snapshot.h"
#include "launch/why/running_job.h"

namespace hearth::tools {

/// The job of a process, or with 0 the only job of this user.
Status choose_job(int pid, launch::RunningJob& job);
/// "computing", "waiting", "polling", "outside", "finalized", "ended", "stopped", "sleeping".
const char* state_name(const launch::SeenRank& rank, uint64_t now_ns);
/// One rank's part of a snapshot.
nlohmann::ordered_json rank_json(const launch::Snapshot& snapshot, size_t index);

}  // namespace hearth::tools
