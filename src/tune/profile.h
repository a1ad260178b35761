// The profile of a machine: thresholds and limits that `hearth tune` measured there, as a JSON file. mpiexec
// reads it once and hands the values to all ranks (tune/threshold.h), so the library itself never opens it.
// For the launcher and the tools, in one thread.
//
// Places, the first of which that has a file that fits the machine is used:
//   the parameter `profile` (HEARTH_PROFILE): a file, or `none`
//   $XDG_CONFIG_HOME/hearth/profile.json   (~/.config): what a user wrote
//   $XDG_CACHE_HOME/hearth/profile.json    (~/.cache): where `hearth tune` writes
//   /etc/hearth/profile.json               for all users of the machine
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "tune/machine_identity.h"
#include "tune/threshold.h"

namespace hearth::tune {

/// What became of one threshold, or of one limit, which has no relation.
struct Finding {
  param::Id parameter;
  std::optional<topo::Relation> relation;
  std::optional<uint64_t> value;  // none: the default was kept
  std::string text;               // what was measured, and why that follows
};

/// What one way cost at each length.
struct Curve {
  std::optional<topo::Relation> relation;  // none: of a collective
  std::string name;
  std::vector<std::pair<uint64_t, double>> points;  // bytes, ns
};

struct Profile {
  std::string made;     // date and time
  std::string made_by;  // the command
  MachineIdentity machine;
  std::vector<Finding> findings;
  std::vector<Curve> curves;

  /// Those findings that have a value.
  std::vector<Tuned> values() const;
  const Finding* find(param::Id parameter, std::optional<topo::Relation> relation) const;
};

/// The text of a profile. An error says what is wrong and where in the document.
Status parse_profile(const std::string& text, Profile& profile);
std::string profile_text(const Profile& profile);

/// Where this user's profile belongs; "" where there is no home.
std::string own_profile_path();

/// What was found at the places above.
struct ProfileSearch {
  std::optional<Profile> profile;
  std::string path;                // of the profile
  std::vector<std::string> notes;  // one line for each file that is there but was not used
};
ProfileSearch find_profile(const topo::Machine& machine);

}  // namespace hearth::tune
