#include "tune/interval.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hearth::tune {
namespace {

// Inverted sign test: how many of n sorted values may be removed at each end so that the rest contains the
// median with 95 % confidence. -1: not even all of them do.
int cut_off(int n) {
  // Probability of at most `below` heads in n tosses of a fair coin. Its terms are kept as logarithms,
  // because the first one, 2^-n, is no double if n is above 1074.
  double log_chance = -n * std::log(2.0);
  double sum = 0;
  int below = 0;
  for (; below < n / 2; ++below) {
    sum += std::exp(log_chance);
    if (2 * sum > 0.05) break;
    log_chance += std::log(static_cast<double>(n - below) / (below + 1));
  }
  return below - 1;
}

double middle_of_sorted(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return middle_of_sorted(values);
}

Interval median_interval(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  Interval result;
  result.count = static_cast<int>(values.size());
  result.middle = middle_of_sorted(values);
  result.high = std::numeric_limits<double>::infinity();
  if (const int cut = cut_off(result.count); cut >= 0) {
    result.low = values[static_cast<size_t>(cut)];
    result.high = values[values.size() - 1 - static_cast<size_t>(cut)];
  }
  return result;
}

}  // namespace hearth::tune
