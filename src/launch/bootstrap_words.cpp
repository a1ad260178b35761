#include "launch/bootstrap_words.h"

#include <charconv>
#include <cstdlib>

namespace hearth::launch {
namespace {

constexpr uint64_t kSmallMax = 1u << 30;
constexpr size_t kPrintedMax = 120;
constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

bool take_number(std::string_view& text, uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool parse_small(std::string_view text, int& value) {
  uint64_t number = 0;
  if (!take_number(text, number) || !text.empty() || number > kSmallMax) return false;
  value = static_cast<int>(number);
  return true;
}

bool small_variable(const char* name, int& value) {
  return parse_small(variable(name), value);
}

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string to_hex(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    text += kDigits[static_cast<size_t>(byte >> 4)];
    text += kDigits[static_cast<size_t>(byte & std::byte{15})];
  }
  return text;
}

bool from_hex(std::string_view text, std::vector<std::byte>& bytes) {
  bytes.clear();
  if (text.size() % 2 != 0) return false;
  for (size_t i = 0; i < text.size(); i += 2) {
    const size_t high = kDigits.find(text[i]);
    const size_t low = kDigits.find(text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return false;
    bytes.push_back(static_cast<std::byte>(high << 4 | low));
  }
  return true;
}

std::string printable(std::string_view text) {
  std::string result;
  for (const char letter : text.substr(0, kPrintedMax)) {
    result += letter >= ' ' && letter <= '~' ? letter : '?';
  }
  if (text.size() > kPrintedMax) result += "...";
  return result;
}

}  // namespace hearth::launch
