// Messages of the PMI wire protocols, versions 1 and 2: a list of named values that begins with the command.
// Messages from the server are parsed strictly: unexpected input is an error. Pure functions.
//
//   PMI-1   cmd=put kvsname=job key=a value=b\n            words on one line
//   PMI-2      35cmd=kvs-put;key=a;value=b;;c;             length in six columns, ';' doubled within values
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth::launch {

/// Longest message that is accepted from a server.
constexpr size_t kPmiBytesMax = 65536;
constexpr size_t kPmi2LengthColumns = 6;

class PmiMessage {
 public:
  PmiMessage() = default;
  explicit PmiMessage(std::string command) { add("cmd", std::move(command)); }
  PmiMessage& add(std::string name, std::string value);
  PmiMessage& add(std::string name, int value) { return add(std::move(name), std::to_string(value)); }

  /// "" if the message has no command.
  std::string_view command() const;
  /// nullptr if the message has no value of that name.
  const std::string* find(std::string_view name) const;
  /// False if the value is missing or is not a number from 0 to 2^30.
  bool number(std::string_view name, int& value) const;
  /// Whether the server reports success: no rc, or rc=0.
  bool succeeded() const;

  const std::vector<std::pair<std::string, std::string>>& fields() const { return fields_; }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

/// Encode for the wire: PMI-1 with the newline at the end, PMI-2 with the length at the beginning.
std::string to_pmi1(const PmiMessage& message);
std::string to_pmi2(const PmiMessage& message);

/// Parse a PMI-1 line without its newline, and a PMI-2 message without its length.
bool parse_pmi1(std::string_view line, PmiMessage& message);
bool parse_pmi2(std::string_view text, PmiMessage& message);
/// Parses the six columns that precede a PMI-2 message; false unless they hold a number up to kPmiBytesMax.
bool parse_pmi2_length(std::string_view columns, size_t& bytes);

}  // namespace hearth::launch
