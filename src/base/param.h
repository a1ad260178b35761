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

enum class Kind { bytes, count, time_ns, flag, text };

/// Each returns the value in force. The first call reads the environment; a value that cannot be read is
/// reported once on standard error with the form that is expected, and the default is used.
uint64_t get_bytes(Id id);
int64_t get_count(Id id);
uint64_t get_time_ns(Id id);
bool get_flag(Id id);
const std::string& get_text(Id id);

/// The number of a parameter whose default is "auto", when nobody has set it.
constexpr int64_t kAutomatic = -1;
/// For parameters that may be automatic: the value as it is, whether it is kAutomatic, and its source.
int64_t get_number(Id id);
bool is_automatic(Id id);
const char* source(Id id);

/// The number that a text means for a parameter that is no text; false where it means none, or is none of the
/// words that a text may be.
bool parse(Id id, const std::string& text, int64_t& number);
/// What a text has to look like, as in "bytes, as in 4096, 32K, 2M or 1G".
std::string expected_form(Id id);

/// One row of what `hearth info` prints.
struct Row {
  const char* name;         // as in param.def
  std::string environment;  // HEARTH_...
  Kind kind;
  const char* kind_name;
  const char* standard;  // default
  std::string value;     // in force, as it was written
  int64_t number;        // the same, of all kinds but text; kAutomatic for "auto"
  const char* source;    // "default", "environment", "tool" or "chaos"
  const char* text;
};
std::vector<Row> rows();

/// Changes the value of a row of rows(), by its place there, for whoever asks from now on (MPI_T_cvar_write).
/// Called before the value is used, by one thread. False for a value that the parameter cannot have.
bool set_number(size_t row, int64_t value);
bool set_text(size_t row, const std::string& value);
/// The same for base/chaos.h. Pre: nobody has set it, and the value is a legal one.
void disturb(Id id, int64_t value);

}  // namespace hearth::param
