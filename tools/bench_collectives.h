// `hearth bench --collective`: the time of the slowest rank and the algorithm, by length.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "bench.h"

namespace hearth::tools {

/// The names that `--collective` accepts, in addition to "all".
const std::vector<std::string>& collective_names();

/// Uses the options ranks, alloc, offset, lengths, time and files. Prints a table per collective as results
/// arrive.
Status run_bench_collectives(const BenchOptions& options, const std::vector<std::string>& names);

}  // namespace hearth::tools
