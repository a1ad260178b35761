#include "launch/variables.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/param.h"
#include "launch/words.h"

namespace hearth::launch {
namespace {

constexpr const char* kPrefix = "HEARTH_";
// Reserved for programs and tests: the library reads none of these, so they are never reported.
constexpr const char* kReservedPrefix = "HEARTH_TEST_";
// Greater distances are not misspellings.
constexpr size_t kEditDistanceMax = 3;
// Variables other than parameters that mpiexec, ranks and compiler wrappers read.
constexpr const char* kInternal[] = {"HEARTH_APP",         "HEARTH_ARENA",   "HEARTH_BOARD",  "HEARTH_CC",
                                     "HEARTH_CHECK_BOARD", "HEARTH_CXX",     "HEARTH_JOINED", "HEARTH_PARENT",
                                     "HEARTH_RANK",        "HEARTH_SEGMENT", "HEARTH_TUNED"};

std::vector<param::Row> all_rows() {
  std::vector<param::Row> rows = param::rows();
  const std::vector<param::Row> of_tests = param::test_rows();
  rows.insert(rows.end(), of_tests.begin(), of_tests.end());
  return rows;
}

std::vector<std::string> known_variables() {
  std::vector<std::string> known(std::begin(kInternal), std::end(kInternal));
  for (const param::Row& row : all_rows()) known.push_back(row.environment);
  return known;
}

}  // namespace

std::vector<std::string> unknown_variables(const std::vector<std::string>& names) {
  std::vector<std::string> lines;
  std::vector<std::string> known;
  for (const std::string& name : names) {
    if (!name.starts_with(kPrefix) || name.starts_with(kReservedPrefix)) continue;
    if (known.empty()) known = known_variables();
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const auto nearest =
        std::min_element(known.begin(), known.end(), [&name](const std::string& a, const std::string& b) {
          return edit_distance(name, a) < edit_distance(name, b);
        });
    const bool similar = edit_distance(name, *nearest) <= kEditDistanceMax;
    lines.push_back("note: unknown variable " + name +
                    (similar ? "; did you mean " + *nearest + "?" : "; `hearth info` lists all"));
  }
  return lines;
}

void remove_unreadable_variables() {
  for (const param::Row& row : all_rows()) {
    const char* given = std::getenv(row.environment.c_str());
    if (given == nullptr || *given == '\0' || std::strcmp(row.source, "default") != 0) continue;
    ::unsetenv(row.environment.c_str());
  }
}

}  // namespace hearth::launch
