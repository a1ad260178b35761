// What repeated measurements say about a quantity: the median, and by the sign test an interval that holds
// the true one with 95 % or more, whatever the noise is like. Knows nothing of what was measured. Used by
// `hearth tune` and the benchmarks, in any thread.
#pragma once

#include <vector>

namespace hearth::tune {

/// The middle value, or the mean of the two in the middle; 0 of none.
double median(std::vector<double> values);

struct Interval {
  double middle = 0;
  /// 0 and infinity where there are too few values to tell: below six.
  double low = 0, high = 0;
  int count = 0;

  bool surely_below(double limit) const { return count > 0 && high < limit; }
  bool surely_above(double limit) const { return count > 0 && low > limit; }
};
Interval median_interval(std::vector<double> values);

}  // namespace hearth::tune
