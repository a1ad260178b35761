// `hearth bench`: runs the benchmark driver under this installation's mpiexec and prints the results. If
// another library's launcher has started several instances of this program, they become the ranks, and the
// first one prints.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "installation.h"

namespace hearth::tools {

struct BenchOptions {
  std::vector<std::string> cases{"latency", "bandwidth"};
  int ranks = 2;
  std::string hosts;             // names separated by commas; "": this machine
  std::string alloc = "malloc";  // or "mpi": MPI_Alloc_mem
  int offset = 0;                // of both buffers from the start of a page
  uint64_t min_bytes = 0;
  uint64_t max_bytes = uint64_t{4} << 20;
  std::vector<uint64_t> sizes;  // replace the driver's own lengths
  int time_ms = 60;             // per case and length
  int window = 0;               // messages in flight; 0: the default of the case
  std::string json_file;
  std::string plot_file;
};

/// Checks ranks and lengths, and finds the measuring programs.
Status prepare_bench(const BenchOptions& options, Installation& place);

/// The command that starts the driver, without the driver's own arguments.
std::vector<std::string> start_of_driver(const BenchOptions& options, const Installation& place);

/// Prints the table as results arrive.
Status run_bench(const BenchOptions& options);

}  // namespace hearth::tools
