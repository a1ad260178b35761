// `hearth tune --check`: whether the way that the library takes is near the best one at every length. At each
// power of two, and at three times each, the library's own choice is compared with every way that can be
// forced by thresholds, in turns in one job. The profile counts, the environment does not.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace hearth::tools {

struct CheckOptions {
  uint64_t min_bytes = 1;
  uint64_t max_bytes = uint64_t{64} << 20;
};

/// Prints where a way is better by more than a tenth, for sure, and what it was compared with.
Status run_check(const CheckOptions& options);

}  // namespace hearth::tools
