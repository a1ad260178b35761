// Numbers and tables for readers. Used by every tool.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hearth::tools {

/// "512", "4 KiB", "1.5 MiB": at most three digits if the number is not exact.
std::string bytes_text(uint64_t bytes);
/// Three significant digits: "0.123", "4.56", "789", "12300".
std::string three_digits(double value);

/// Columns as wide as their longest cell; the first is left-aligned, numbers are right-aligned.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> titles) : rows_{std::move(titles)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// Each line begins with `indent` blanks and ends with a line feed.
  std::string text(int indent) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace hearth::tools
