#include "pretty.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hearth::tools {
namespace {

bool is_number(const std::string& cell) {
  return !cell.empty() && (cell[0] == '-' || (cell[0] >= '0' && cell[0] <= '9'));
}

}  // namespace

std::string bytes_text(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
  size_t unit = 0;
  auto value = static_cast<double>(bytes);
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  const bool exact = value == std::floor(value);
  return exact ? fmt::format("{:.0f}{}", value, kUnits[unit]) : three_digits(value) + kUnits[unit];
}

std::string three_digits(double value) {
  if (value == 0) return "0";
  const int digits = 2 - static_cast<int>(std::floor(std::log10(std::abs(value))));
  return fmt::format("{:.{}f}", value, std::clamp(digits, 0, 6));
}

std::string TextTable::text(int indent) const {
  std::vector<size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string result;
  for (const auto& row : rows_) {
    std::string line(static_cast<size_t>(indent), ' ');
    for (size_t i = 0; i < row.size(); ++i) {
      // A title is aligned like the cells below it.
      const std::string& sample =
          &row == &rows_[0] && rows_.size() > 1 && i < rows_[1].size() ? rows_[1][i] : row[i];
      const bool right = i > 0 && is_number(sample);
      line += right ? fmt::format("{:>{}}  ", row[i], widths[i]) : fmt::format("{:<{}}  ", row[i], widths[i]);
    }
    line.resize(line.find_last_not_of(' ') + 1);
    result += line + '\n';
  }
  return result;
}

}  // namespace hearth::tools
