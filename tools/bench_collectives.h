// `hearth bench --collective`: the time of the slowest rank, and the algorithm that was used, by length.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "bench.h"

namespace hearth::tools {

/// The names that `--collective` takes, beside "all".
const std::vector<std::string>& collective_names();

/// Of the options ranks, alloc, offset, lengths, time and files count. Prints a table for each collective
/// while it grows.
Status run_bench_collectives(const BenchOptions& options, const std::vector<std::string>& names);

}  // namespace hearth::tools
