// Messages of the PMI wire protocols, versions 1 and 2: named values, the command first. What comes from the
// server is parsed strictly: anything unexpected is an error, never a guess. Pure functions.
//
//   PMI-1   cmd=put kvsname=job key=a value=b\n            words, a line each
//   PMI-2      35cmd=kvs-put;key=a;value=b;;c;             six columns of length, ';' doubled within values
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth::launch {

/// Longest message that is taken from a server.
constexpr size_t kPmiBytesMax = 65536;
constexpr size_t kPmi2LengthColumns = 6;

class PmiMessage {
 public:
  PmiMessage() = default;
  explicit PmiMessage(std::string command) { add("cmd", std::move(command)); }
  PmiMessage& add(std::string name, std::string value);
  PmiMessage& add(std::string name, int value) { return add(std::move(name), std::to_string(value)); }

  /// "" when there is none.
  std::string_view command() const;
  /// nullptr when there is no value of that name.
  const std::string* find(std::string_view name) const;
  /// False when there is none, or no number from 0 to 2^30.
  bool number(std::string_view name, int& value) const;
  /// Whether the server says that it did what it was asked: no rc, or rc=0.
  bool succeeded() const;

  const std::vector<std::pair<std::string, std::string>>& fields() const { return fields_; }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

/// As bytes for the wire: the line with its end, or the message behind its length.
std::string to_pmi1(const PmiMessage& message);
std::string to_pmi2(const PmiMessage& message);

/// A line without its end; a message without its length.
bool parse_pmi1(std::string_view line, PmiMessage& message);
bool parse_pmi2(std::string_view text, PmiMessage& message);
/// The six columns before a message of PMI-2; false unless they hold a number up to kPmiBytesMax.
bool parse_pmi2_length(std::string_view columns, size_t& bytes);

}  // namespace hearth::launch
