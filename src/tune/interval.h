// Statistics of repeated measurements: the median, and an interval that contains the true median with at
// least 95 % confidence for any distribution of the noise (sign test). Independent of what was measured. Used
// by `hearth tune` and the benchmarks, in any thread.
#pragma once

#include <vector>

namespace hearth::tune {

/// The middle value, or the mean of the two middle values; 0 if there are none.
double median(std::vector<double> values);

struct Interval {
  double middle = 0;
  /// 0 and infinity if there are fewer than six values.
  double low = 0, high = 0;
  int count = 0;

  bool surely_below(double limit) const { return count > 0 && high < limit; }
  bool surely_above(double limit) const { return count > 0 && low > limit; }
};
Interval median_interval(std::vector<double> values);

}  // namespace hearth::tune
