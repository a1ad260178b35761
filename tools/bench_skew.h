// `hearth bench --skew`: the time that messages cost a producer whose consumer lags (hybrid-kernel-user-2008,
// sections 3.4 and 4.2, figures 6 and 7). Compares bounce buffers only, single copy only, and the library's
// skew-aware choice. Reports whether the skew-aware choice is within a tenth of the better of the other two
// at every delay.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace hearth::tools {

struct SkewOptions {
  uint64_t bytes = uint64_t{512} << 10;  // of a message
  bool from_mpi = true;                  // MPI_Alloc_mem: the single copy uses the arena; else the kernel
  std::vector<double> delays = {0, 0.5, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};  // of the consumer, in copy times
  int rounds = 20;                                                       // per delay
  std::string json_file;
  std::string plot_file;
};

/// Settings of the probe for the three cases.
struct SkewSettings {
  std::string buffered, lent, aware;
};
/// With `from_mpi` the single copy uses the arena, otherwise the kernel.
SkewSettings skew_settings(bool from_mpi);

/// Prints the table as results arrive.
Status run_skew(const SkewOptions& options);

/// The results for one delay: the producer's time per message.
struct SkewPoint {
  double delay = 0;
  double buffered_ns = 0, lent_ns = 0, aware_ns = 0;
  /// The skew-aware time divided by the better of the other two.
  double ratio() const;
};
/// Largest accepted loss of the skew-aware choice, relative to the better of the other two.
constexpr double kSkewLossMax = 0.10;
/// The verdict on all points, as text.
std::string skew_verdict(const std::vector<SkewPoint>& points);

}  // namespace hearth::tools
