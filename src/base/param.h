// Parameters: each is declared once in param.def, read once from the environment, and printable with its
// source. Settings for tests are declared in test_settings.def; only get_...() and test_rows() return them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hearth::param {

enum class Id : int {
#define HEARTH_PARAM(identifier, kind, standard, text) identifier,
#include "base/param.def"
  public_count_,
  last_public_ = public_count_ - 1,
#include "base/test_settings.def"
#undef HEARTH_PARAM
  count_
};

enum class Kind { bytes, count, time_ns, flag, text };

/// Return the value in force. The first call reads the environment. A value that cannot be parsed is reported
/// once on standard error with the expected form, and the default is used.
uint64_t get_bytes(Id id);
int64_t get_count(Id id);
uint64_t get_time_ns(Id id);
bool get_flag(Id id);
const std::string& get_text(Id id);

/// The number of a parameter whose default is "auto", if it is not set.
constexpr int64_t kAutomatic = -1;
/// For parameters that may be automatic: the number, whether it is kAutomatic, and its source.
int64_t get_number(Id id);
bool is_automatic(Id id);
const char* source(Id id);

/// Parses the value of a parameter. False if the text is not a number of the parameter's kind or, for a text
/// parameter, not one of its allowed words.
bool parse(Id id, const std::string& text, int64_t& number);
/// The form of a parameter's values, as in "bytes, as in 4096, 32K, 2M or 1G".
std::string expected_form(Id id);

/// One row of a table of parameters.
struct Row {
  const char* name;         // as in param.def
  std::string environment;  // HEARTH_...
  Kind kind;
  const char* kind_name;
  const char* standard;  // default
  std::string value;     // in force, as written
  int64_t number;        // the same as a number, except for text; kAutomatic for "auto"
  const char* source;    // "default", "environment", "tool" or "chaos"
  const char* text;
};
/// The parameters, by Id: the table that `hearth info` prints.
std::vector<Row> rows();
/// The settings for tests.
std::vector<Row> test_rows();

/// Set the value of a parameter by its Id, the index in rows() (MPI_T_cvar_write). Called by one thread,
/// before the value is used. False if the parameter cannot have this value.
bool set_number(size_t index, int64_t value);
bool set_text(size_t index, const std::string& value);
/// The same for base/chaos.h. Pre: the parameter has its default, and the value is a legal one.
void disturb(Id id, int64_t value);

}  // namespace hearth::param
