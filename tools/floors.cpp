#include "floors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "pretty.h"

namespace hearth::tools {

const char* Floors::state_of(double ns) {
  if (ns <= 0) return "not measured";
  if (ns < 20) return "threads of one core";
  if (ns < 100) return "cores that share a cache";
  if (ns < 600) return "cores far from each other";
  return "the ranks share processors, with each other or with other programs";
}

std::string Floors::take_change() {
  std::string text;
  for (; seen_ < values_.size(); ++seen_) {
    const char* state = state_of(values_[seen_]);
    if (last_state_ != nullptr && std::strcmp(state, last_state_) != 0) text = state;
    last_state_ = state;
  }
  return text;
}

void Floors::print() const {
  if (values_.empty()) return;
  std::vector<double> sorted = values_;
  std::sort(sorted.begin(), sorted.end());
  const double middle = sorted[sorted.size() / 2];
  fmt::print("\none cache line from processor to processor: {} ns ({})\n", three_digits(middle),
             state_of(middle));
  const auto elsewhere = std::count_if(sorted.begin(), sorted.end(), [middle](double floor) {
    return std::strcmp(state_of(floor), state_of(middle)) != 0;
  });
  if (elsewhere > 0) {
    fmt::print(
        "note: for {} of {} looks the machine was in another state, so some rows are slower or faster than "
        "they would be alone\n",
        elsewhere, sorted.size());
  }
}

}  // namespace hearth::tools
