// Thresholds by what lies between two processes, and which of several sources each value comes from. Owns the
// values that a profile gave; read when a pair first talks, by the tools, and never on the data path. Called
// under the library's lock, or by the one thread of a tool.
//
// The sources, in falling order: environment; hints of a communicator; MPI_T (these three for all relations);
// profile; the default in threshold.def.
//
// Likewise the limits of collectives, of which a profile has one value for the machine: environment; MPI_T,
// before MPI starts; profile; the default in base/param.def.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/param.h"
#include "base/status.h"
#include "topo/relation.h"

namespace hearth::tune {

/// Of a length from which on something is done: it is not done at any length.
constexpr uint64_t kNever = UINT64_MAX;

/// One row of threshold.def.
struct Threshold {
  param::Id parameter;
  const char* name;
  uint64_t standard[topo::kRelations];
  const char* why;
};
std::span<const Threshold> thresholds();
/// nullptr for a name that no row has.
const Threshold* find_threshold(const std::string& name);

/// One row of threshold.def without relations.
struct Limit {
  param::Id parameter;
  const char* name;
  const char* why;
};
std::span<const Limit> limits();
const Limit* find_limit(const std::string& name);
/// The name of the parameter of a row of either kind.
const char* name_of(param::Id parameter);

/// Values that the info of a communicator asks for, under the parameter's name behind "hearth_"
/// (docs/design/tuning.md). For messages that do not fit the ring: nothing is looked up for shorter ones.
class Hints {
 public:
  /// Whether read() takes over the value of this key.
  static bool knows(const std::string& key);
  bool empty() const { return values_.empty(); }
  std::optional<uint64_t> at(param::Id parameter) const;
  /// Takes over what the entries of an info object say; keys that name no threshold are not looked at. "auto"
  /// takes a value back. MPI_ERR_INFO_VALUE, and nothing has changed.
  Status read(std::span<const std::pair<std::string, std::string>> entries);

 private:
  std::vector<std::pair<param::Id, uint64_t>> values_;
};

/// The value in force, for messages of a communicator that has these hints.
uint64_t value(param::Id parameter, topo::Relation relation, const Hints* hints = nullptr);
/// "environment", "tool", "profile" or "default".
const char* source(param::Id parameter, topo::Relation relation);

/// The same of a limit.
uint64_t limit(param::Id parameter);
const char* limit_source(param::Id parameter);

/// A value that a profile gives.
struct Tuned {
  param::Id parameter;
  std::optional<topo::Relation> relation;  // none: of a limit
  uint64_t value;
};

/// The variable in which mpiexec hands the values of its profile to the ranks, so that all use the same, as
/// `name:relation=value`, or `name=value` of a limit, with semicolons between them; `never` is a value too.
/// Ranks that another launcher starts may be given it by hand.
constexpr const char* kVariable = "HEARTH_TUNED";
std::string to_words(std::span<const Tuned> values);
/// An error where the words mean nothing; `values` is then empty.
Status from_words(const std::string& words, std::vector<Tuned>& values);

/// Uses these values from now on and those of the variable no longer. For tools and tests; ranks use the
/// variable.
void use(std::span<const Tuned> values);

}  // namespace hearth::tune
