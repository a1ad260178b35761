#include "tune_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "pretty.h"

namespace hearth::tools {

const tune::Comparison& clearest(const std::vector<tune::Comparison>& measured) {
  return *std::max_element(measured.begin(), measured.end(), [](const auto& x, const auto& y) {
    return std::abs(std::log(x.ratio)) < std::abs(std::log(y.ratio));
  });
}

std::string ratio_text(const tune::Comparison& at, const std::string& place) {
  return fmt::format("{:.2f} ({:.2f} to {:.2f}) of the time at {}", at.ratio, at.low, at.high, place);
}

std::string ratio_text(const tune::Comparison& at) {
  return ratio_text(at, bytes_text(at.bytes));
}

}  // namespace hearth::tools
