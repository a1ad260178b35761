// `hearth bench --skew`: what messages cost a producer whose consumer lags (hybrid-kernel-user-2008,
// sections 3.4 and 4.2, figures 6 and 7): through cells only, lent and copied once only, and as the library
// chooses by its own waiting. Says whether the last is within a tenth of the better of the two at every
// delay.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace hearth::tools {

struct SkewOptions {
  uint64_t bytes = uint64_t{512} << 10;  // of a message
  bool from_mpi = true;                  // MPI_Alloc_mem: the single copy is the arena's; else the kernel's
  std::vector<double> delays = {0, 0.5, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};  // of the consumer, in copy times
  int rounds = 20;                                                       // for each delay
  std::string json_file;
  std::string plot_file;
};

/// Settings of the probe for the three ways.
struct SkewSettings {
  std::string buffered, lent, aware;
};
/// From MPI: the single copy is the arena's; else the kernel's.
SkewSettings skew_settings(bool from_mpi);

/// Prints the table while it grows.
Status run_skew(const SkewOptions& options);

/// What one delay came to; times of the producer for one message.
struct SkewPoint {
  double delay = 0;
  double buffered_ns = 0, lent_ns = 0, aware_ns = 0;
  /// Of the third to the better of the others.
  double ratio() const;
};
/// How far the third may be behind the better of the others, as a share of its time.
constexpr double kSkewLossMax = 0.10;
/// In words, for all points.
std::string skew_verdict(const std::vector<SkewPoint>& points);

}  // namespace hearth::tools
