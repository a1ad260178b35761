// The profile of a machine: thresholds and limits that `hearth tune` measured there, as a JSON file. mpiexec
// reads it once and passes the values to all ranks (tune/threshold.h), so the library itself never opens it.
// For the launcher and the tools, in one thread.
//
// Searched in this order; the first file that matches the machine is used:
//   the parameter `profile` (HEARTH_PROFILE): a file, or `none`; if set, no other file is searched
//   $XDG_CONFIG_HOME/hearth/profile.json   (~/.config): written by the user
//   $XDG_CACHE_HOME/hearth/profile.json    (~/.cache): written by `hearth tune`
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

/// The result for a threshold, or for a limit, which has no relation.
struct Finding {
  param::Id parameter;
  std::optional<topo::Relation> relation;
  std::optional<uint64_t> value;  // none: the default was kept
  std::string text;               // the measurement, and the reason for the value
};

/// The measured times of one protocol by length.
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

  /// The findings that have a value.
  std::vector<Tuned> values() const;
  const Finding* find(param::Id parameter, std::optional<topo::Relation> relation) const;
};

/// Parse and format a profile. An error names the problem and its position in the document.
Status parse_profile(const std::string& text, Profile& profile);
std::string profile_text(const Profile& profile);

/// The path of this user's profile; "" if there is no home folder.
std::string own_profile_path();

/// The result of the search in the places above.
struct ProfileSearch {
  std::optional<Profile> profile;
  std::string path;                // of the profile
  std::vector<std::string> notes;  // one line for each file that exists but was not used
};
ProfileSearch find_profile(const topo::Machine& machine);

}  // namespace hearth::tune
