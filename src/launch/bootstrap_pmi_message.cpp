#include "launch/bootstrap_pmi_message.h"

#include <algorithm>
#include <cctype>

#include "launch/bootstrap_words.h"

namespace hearth::launch {
namespace {

constexpr size_t kFieldsMax = 64;
constexpr size_t kNameMax = 64;

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > kNameMax) return false;
  return std::all_of(text.begin(), text.end(), [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter == '_' || letter == '-' || letter == '.';
  });
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char letter) { return letter >= ' ' && letter <= '~'; });
}

// Appends "name=value"; the first field must be the command, and each name may occur once.
bool take_field(std::string_view name, std::string value, PmiMessage& message) {
  if (!is_name(name) || !is_printable(value) || message.fields().size() >= kFieldsMax) return false;
  if (message.fields().empty() && (name != "cmd" || value.empty())) return false;
  if (message.find(name) != nullptr) return false;
  message.add(std::string(name), std::move(value));
  return true;
}

}  // namespace

PmiMessage& PmiMessage::add(std::string name, std::string value) {
  fields_.emplace_back(std::move(name), std::move(value));
  return *this;
}

std::string_view PmiMessage::command() const {
  const std::string* found = find("cmd");
  return found == nullptr ? std::string_view() : *found;
}

const std::string* PmiMessage::find(std::string_view name) const {
  for (const auto& [known, value] : fields_) {
    if (known == name) return &value;
  }
  return nullptr;
}

bool PmiMessage::number(std::string_view name, int& value) const {
  const std::string* found = find(name);
  return found != nullptr && parse_small(*found, value);
}

bool PmiMessage::succeeded() const {
  const std::string* code = find("rc");
  return code == nullptr || *code == "0";
}

std::string to_pmi1(const PmiMessage& message) {
  std::string text;
  for (const auto& [name, value] : message.fields()) {
    if (!text.empty()) text += ' ';
    text += name + "=" + value;
  }
  return text + '\n';
}

std::string to_pmi2(const PmiMessage& message) {
  std::string text;
  for (const auto& [name, value] : message.fields()) {
    text += name + "=";
    for (const char letter : value) text.append(letter == ';' ? 2 : 1, letter);
    text += ';';
  }
  const std::string length = std::to_string(text.size());
  return std::string(kPmi2LengthColumns - std::min(length.size(), kPmi2LengthColumns), ' ') + length + text;
}

bool parse_pmi1(std::string_view line, PmiMessage& message) {
  message = PmiMessage();
  if (line.size() > kPmiBytesMax) return false;
  while (!line.empty()) {
    const size_t end = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    if (word.empty()) continue;  // some servers write two blanks, or one at the end
    const size_t equals = word.find('=');
    if (equals == std::string_view::npos) return false;
    if (!take_field(word.substr(0, equals), std::string(word.substr(equals + 1)), message)) return false;
  }
  return !message.fields().empty();
}

bool parse_pmi2(std::string_view text, PmiMessage& message) {
  message = PmiMessage();
  if (text.size() > kPmiBytesMax) return false;
  while (!text.empty()) {
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view name = text.substr(0, equals);
    std::string value;
    size_t next = equals + 1;
    for (;; ++next) {
      if (next >= text.size()) return false;  // no ';' after the value
      if (text[next] == ';') {
        if (next + 1 >= text.size() || text[next + 1] != ';') break;
        ++next;
      }
      value += text[next];
    }
    text.remove_prefix(next + 1);
    if (!take_field(name, std::move(value), message)) return false;
  }
  return !message.fields().empty();
}

bool parse_pmi2_length(std::string_view columns, size_t& bytes) {
  if (columns.size() != kPmi2LengthColumns) return false;
  while (columns.starts_with(" ")) columns.remove_prefix(1);
  // Some servers put the blanks after the number.
  while (columns.ends_with(" ")) columns.remove_suffix(1);
  int number = 0;
  if (!parse_small(columns, number) || number < 1 || static_cast<size_t>(number) > kPmiBytesMax) return false;
  bytes = static_cast<size_t>(number);
  return true;
}

}  // namespace hearth::launch
