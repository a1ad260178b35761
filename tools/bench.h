// `hearth bench`: runs the benchmark driver under this installation's mpiexec and shows what it measured.
// Where another library's launcher has started several of this program, they become the ranks, and the first
// one shows it.
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
  std::string hosts;             // names with commas between them; "": this machine
  std::string alloc = "malloc";  // or "mpi": MPI_Alloc_mem
  int offset = 0;                // of both buffers from the start of a page
  uint64_t min_bytes = 0;
  uint64_t max_bytes = uint64_t{4} << 20;
  std::vector<uint64_t> sizes;  // instead of the driver's own list between the two
  int time_ms = 60;             // for each case and length
  int window = 0;               // messages in flight; 0: by the case
  std::string json_file;
  std::string plot_file;
};

/// Whether ranks and lengths make sense; where the programs lie that measure.
Status prepare_bench(const BenchOptions& options, Installation& place);

/// The words that start the driver, up to its own.
std::vector<std::string> start_of_driver(const BenchOptions& options, const Installation& place);

/// Prints the table while it grows.
Status run_bench(const BenchOptions& options);

}  // namespace hearth::tools
