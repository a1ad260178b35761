// `hearth tune --check`: checks whether the library's protocol is close to the best one at every length. At
// each power of two, and at three times each, it compares the library's own choice with every protocol that
// thresholds can force, alternating in one job. The profile applies, the environment does not.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace hearth::tools {

struct CheckOptions {
  uint64_t min_bytes = 1;
  uint64_t max_bytes = uint64_t{64} << 20;
};

/// Prints where a protocol is better by significantly more than a tenth, and the compared protocols.
Status run_check(const CheckOptions& options);

}  // namespace hearth::tools
