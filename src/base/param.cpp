#include "base/param.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/check.h"
#include "base/launcher_rank.h"

namespace hearth::param {
namespace {

struct Declaration {
  const char* name;
  Kind kind;
  const char* kind_name;
  const char* standard;
  const char* text;
};

constexpr Declaration kDeclarations[] = {
#define HEARTH_PARAM(identifier, kind, standard, text) {#identifier, Kind::kind, #kind, standard, text},
#include "base/param.def"
#include "base/test_settings.def"
#undef HEARTH_PARAM
};
constexpr const char* kAutomaticWord = "auto";

// Text parameters that accept only certain words, or a comma-separated list of them. Without the parameters
// that mpiexec reads, because it starts no job if one is wrong.
struct Words {
  Id id;
  std::string_view words;  // separated by spaces
  bool several = false;
};
constexpr Words kWords[] = {
    {Id::p2p_single_copy_methods, "xpmem cma", true},
    {Id::p2p_stores, "by_time plain streaming"},
    {Id::p2p_loads, "by_time in_order four_pages"},
    {Id::launch_pmi, "pmi2"},
    {Id::share_heap, "bounded 1 0"},
    {Id::reorder_measured, "apart always never"},
    {Id::initial_errhandler, "mpi_errors_are_fatal mpi_errors_abort mpi_errors_return"},
};
constexpr size_t kPublicCount = static_cast<size_t>(Id::public_count_);
constexpr size_t kCount = static_cast<size_t>(Id::count_);
static_assert(sizeof kDeclarations / sizeof kDeclarations[0] == kCount);

struct Suffix {
  const char* name;
  int64_t factor;
};
constexpr Suffix kByteSuffixes[] = {{"", 1},         {"k", 1 << 10},   {"kb", 1 << 10},  {"kib", 1 << 10},
                                    {"m", 1 << 20},  {"mb", 1 << 20},  {"mib", 1 << 20}, {"g", 1 << 30},
                                    {"gb", 1 << 30}, {"gib", 1 << 30}, {"t", 1LL << 40}, {"b", 1}};
constexpr Suffix kTimeSuffixes[] = {
    {"", 1}, {"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}};
constexpr Suffix kCountSuffixes[] = {{"", 1}, {"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30}};

std::string lower(const char* text) {
  std::string result;
  for (; *text != '\0'; ++text) result += static_cast<char>(std::tolower(static_cast<unsigned char>(*text)));
  return result;
}

template <size_t N>
bool parse_number(const char* text, const Suffix (&suffixes)[N], int64_t& value) {
  while (std::isspace(static_cast<unsigned char>(*text)) != 0) ++text;
  if (std::isdigit(static_cast<unsigned char>(*text)) == 0) return false;
  char* end = nullptr;
  errno = 0;
  const long long number = std::strtoll(text, &end, 10);
  if (errno != 0) return false;
  while (*end == ' ') ++end;
  const std::string unit = lower(end);
  for (const Suffix& suffix : suffixes) {
    if (unit != suffix.name) continue;
    if (number > INT64_MAX / suffix.factor) return false;
    value = number * suffix.factor;
    return true;
  }
  return false;
}

bool parse_flag(const char* text, int64_t& value) {
  const std::string word = lower(text);
  for (const char* yes : {"1", "yes", "true", "on"}) {
    if (word == yes) return value = 1, true;
  }
  for (const char* no : {"0", "no", "false", "off"}) {
    if (word == no) return value = 0, true;
  }
  return false;
}

const Words* words_of(size_t index) {
  for (const Words& row : kWords) {
    if (static_cast<size_t>(row.id) == index) return &row;
  }
  return nullptr;
}

bool is_among(std::string_view words, std::string_view word) {
  for (size_t begin = 0; begin <= words.size();) {
    const size_t end = std::min(words.find(' ', begin), words.size());
    if (words.substr(begin, end - begin) == word) return true;
    begin = end + 1;
  }
  return false;
}

bool parse_text(size_t index, std::string_view text) {
  const Words* allowed = words_of(index);
  if (allowed == nullptr || text.empty()) return true;
  if (!allowed->several) return is_among(allowed->words, text);
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (!is_among(allowed->words, text.substr(begin, end - begin))) return false;
    begin = end + 1;
  }
  return true;
}

bool parse(Kind kind, const char* text, int64_t& value) {
  switch (kind) {
    case Kind::bytes:
      return parse_number(text, kByteSuffixes, value);
    case Kind::count:
      return parse_number(text, kCountSuffixes, value);
    case Kind::time_ns:
      return parse_number(text, kTimeSuffixes, value);
    case Kind::flag:
      return parse_flag(text, value);
    case Kind::text:
      return true;
  }
  return false;
}

std::string expected_form(size_t index) {
  if (const Words* allowed = words_of(index); allowed != nullptr) {
    return (allowed->several ? "one or several, with commas, of: " : "one of: ") +
           std::string(allowed->words);
  }
  switch (kDeclarations[index].kind) {
    case Kind::bytes:
      return "bytes, as in 4096, 32K, 2M or 1G";
    case Kind::count:
      return "a number, as in 16";
    case Kind::time_ns:
      return "a time, as in 500ns, 50us, 10ms or 1s";
    case Kind::flag:
      return "0 or 1 (or no, yes)";
    case Kind::text:
      return "text";
  }
  return "";
}

bool may_be_automatic(const Declaration& declaration) {
  return std::strcmp(declaration.standard, kAutomaticWord) == 0;
}

bool parse_value(size_t index, const char* text, int64_t& value) {
  const Declaration& declaration = kDeclarations[index];
  if (declaration.kind == Kind::text) return parse_text(index, text);
  if (!may_be_automatic(declaration) || lower(text) != kAutomaticWord)
    return parse(declaration.kind, text, value);
  value = kAutomatic;
  return true;
}

std::string environment_name(const char* name) {
  std::string result = "HEARTH_";
  for (; *name != '\0'; ++name) result += static_cast<char>(std::toupper(static_cast<unsigned char>(*name)));
  return result;
}

struct Value {
  int64_t number = 0;
  std::string text;
  const char* source = "default";
};

struct Table {
  std::array<Value, kCount> values;

  Table() {
    for (size_t i = 0; i < kCount; ++i) read(i, values[i]);
  }

  static void read(size_t index, Value& value) {
    const Declaration& declaration = kDeclarations[index];
    const std::string name = environment_name(declaration.name);
    const char* given = std::getenv(name.c_str());
    // An empty variable counts as unset, because shells make it hard to tell the two apart.
    if (given != nullptr && *given != '\0') {
      if (parse_value(index, given, value.number)) {
        value.text = given;
        value.source = "environment";
        return;
      }
      if (is_first_rank()) {
        std::fprintf(stderr, "hearth: %s='%s' cannot be read: expected %s%s; using the default %s\n",
                     name.c_str(), given, expected_form(index).c_str(),
                     may_be_automatic(declaration) ? ", or auto" : "", declaration.standard);
      }
    }
    HEARTH_CHECK(parse_value(index, declaration.standard, value.number));
    value.text = declaration.standard;
  }
};

Table& table() {
  static Table table;
  return table;
}

const Value& value_of(Id id, [[maybe_unused]] Kind kind) {
  const auto index = static_cast<size_t>(id);
  HEARTH_DCHECK(index < kCount && kDeclarations[index].kind == kind);
  HEARTH_DCHECK(kind == Kind::text || table().values[index].number >= 0);
  return table().values[index];
}

std::vector<Row> rows_between(size_t first, size_t end) {
  std::vector<Row> result;
  for (size_t i = first; i < end; ++i) {
    const Declaration& declaration = kDeclarations[i];
    const Value& value = table().values[i];
    result.push_back({declaration.name, environment_name(declaration.name), declaration.kind,
                      declaration.kind_name, declaration.standard, value.text, value.number, value.source,
                      declaration.text});
  }
  return result;
}

}  // namespace

uint64_t get_bytes(Id id) {
  return static_cast<uint64_t>(value_of(id, Kind::bytes).number);
}
int64_t get_count(Id id) {
  return value_of(id, Kind::count).number;
}
uint64_t get_time_ns(Id id) {
  return static_cast<uint64_t>(value_of(id, Kind::time_ns).number);
}
bool get_flag(Id id) {
  return value_of(id, Kind::flag).number != 0;
}
const std::string& get_text(Id id) {
  return value_of(id, Kind::text).text;
}

int64_t get_number(Id id) {
  return table().values[static_cast<size_t>(id)].number;
}
bool is_automatic(Id id) {
  return get_number(id) == kAutomatic;
}
const char* source(Id id) {
  return table().values[static_cast<size_t>(id)].source;
}

bool parse(Id id, const std::string& text, int64_t& number) {
  return parse_value(static_cast<size_t>(id), text.c_str(), number);
}
std::string expected_form(Id id) {
  return expected_form(static_cast<size_t>(id));
}

std::vector<Row> rows() {
  return rows_between(0, kPublicCount);
}
std::vector<Row> test_rows() {
  return rows_between(kPublicCount, kCount);
}

bool set_number(size_t index, int64_t value) {
  const Kind kind = kDeclarations[index].kind;
  if (value == kAutomatic && may_be_automatic(kDeclarations[index])) {
    table().values[index] = {value, kAutomaticWord, "tool"};
    return true;
  }
  if (value < 0 || (kind == Kind::flag && value > 1) || kind == Kind::text) return false;
  table().values[index] = {value, std::to_string(value), "tool"};
  return true;
}

bool set_text(size_t index, const std::string& value) {
  HEARTH_DCHECK(kDeclarations[index].kind == Kind::text);
  if (!parse_text(index, value)) return false;
  table().values[index] = {0, value, "tool"};
  return true;
}

void disturb(Id id, int64_t value) {
  HEARTH_DCHECK(kDeclarations[static_cast<size_t>(id)].kind != Kind::text && value >= 0);
  table().values[static_cast<size_t>(id)] = {value, std::to_string(value), "chaos"};
}

}  // namespace hearth::param
