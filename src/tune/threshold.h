// Thresholds by the relation of two processes, and the source of each value. Owns the values from a profile.
// Read when a pair first communicates, and by the tools; not on the data path. Under the library's lock, or
// in a tool's only thread.
//
// Precedence, highest first: environment; hints of a communicator; MPI_T (these three for all relations);
// profile; the default in threshold.def.
//
// Precedence of the limits of collectives, for which a profile has one value per machine: environment; MPI_T,
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

/// For a minimum length: never, at no length.
constexpr uint64_t kNever = UINT64_MAX;

/// One row of threshold.def.
struct Threshold {
  param::Id parameter;
  const char* name;
  uint64_t standard[topo::kRelations];
  const char* why;
};
std::span<const Threshold> thresholds();
/// nullptr if no row has this name.
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

/// Values that a communicator's info requests, with the parameter's name after "hearth_"
/// (docs/design/tuning.md). For messages that do not fit the ring: shorter ones look up nothing.
class Hints {
 public:
  /// Whether read() uses this key.
  static bool knows(const std::string& key);
  bool empty() const { return values_.empty(); }
  std::optional<uint64_t> at(param::Id parameter) const;
  /// Takes the values from the entries of an info object and ignores keys that name no threshold. "auto"
  /// removes a value. Returns MPI_ERR_INFO_VALUE without changes for an invalid value.
  Status read(std::span<const std::pair<std::string, std::string>> entries);

 private:
  std::vector<std::pair<param::Id, uint64_t>> values_;
};

/// The value in force for messages of a communicator with these hints.
uint64_t value(param::Id parameter, topo::Relation relation, const Hints* hints = nullptr);
/// "environment", "tool", "profile" or "default".
const char* source(param::Id parameter, topo::Relation relation);

/// The same for a limit.
uint64_t limit(param::Id parameter);
const char* limit_source(param::Id parameter);

/// A value from a profile.
struct Tuned {
  param::Id parameter;
  std::optional<topo::Relation> relation;  // none: a limit
  uint64_t value;
};

/// The variable in which mpiexec passes the values of its profile to the ranks, so that all use the same:
/// `name:relation=value`, or `name=value` for a limit, separated by semicolons; `never` is a value too. For
/// ranks started by another launcher, the user may set it.
constexpr const char* kVariable = "HEARTH_TUNED";
std::string to_words(std::span<const Tuned> values);
/// Fails if the text cannot be parsed; `values` is then empty.
Status from_words(const std::string& words, std::vector<Tuned>& values);

/// Uses these values from now on instead of those of the variable. For tools and tests.
void use(std::span<const Tuned> values);

}  // namespace hearth::tune
