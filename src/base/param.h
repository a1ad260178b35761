// Parameters: one declaration each in param.def, read once from the environment, printable with their source.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hearth::param {

enum class Id : int {
#define HEARTH_PARAM(identifier, kind, standard, text) identifier,
#include "base/param.def"
#undef HEARTH_PARAM
  count_
};

/// Each returns the value in force. The first call reads the environment; a value that cannot be read is
/// reported once on standard error with the form that is expected, and the default is used.
uint64_t get_bytes(Id id);
int64_t get_count(Id id);
uint64_t get_time_ns(Id id);
bool get_flag(Id id);
const std::string& get_text(Id id);

/// One row of what `hearth info` prints.
struct Row {
  const char* name;         // as in param.def
  std::string environment;  // HEARTH_...
  const char* kind;
  const char* standard;  // default
  std::string value;     // in force
  const char* source;    // "default" or "environment"
  const char* text;
};
std::vector<Row> rows();

}  // namespace hearth::param
