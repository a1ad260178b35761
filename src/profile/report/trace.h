// A trace in the Chrome trace event format, for Perfetto and chrome://tracing: one process per rank, one
// track per thread, and an arrow per message. docs/guide/tools.md is the documentation for users.
#pragma once

#include <functional>
#include <string>

#include "profile/report/summary.h"

namespace hearth::profile {

struct TraceCounts {
  uint64_t events = 0;
  uint64_t dropped = 0;  // dropped by ranks whose buffer was full
};

/// Passes the text to `write` in pieces, because it may be long; `write` returns whether to continue.
TraceCounts write_trace(const Board& board, const JobFacts& job,
                        const std::function<bool(const std::string&)>& write);

}  // namespace hearth::profile
