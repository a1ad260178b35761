// A trace as Chrome's trace events, which Perfetto and chrome://tracing show: one process for each rank, one
// track for each of its threads, and an arrow for each message. docs/guide/tools.md tells its users.
#pragma once

#include <functional>
#include <string>

#include "profile/summary.h"

namespace hearth::profile {

struct TraceTold {
  uint64_t events = 0;
  uint64_t dropped = 0;  // by ranks whose buffer was full
};

/// Hands the text over piece by piece: it may be long. `write` says whether to go on.
TraceTold write_trace(const Board& board, const JobFacts& job,
                      const std::function<bool(const std::string&)>& write);

}  // namespace hearth::profile
