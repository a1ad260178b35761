#include "tune/profile.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/os_io.h"
#include "base/os_machine.h"
#include "base/param.h"
#include "mpi.h"

namespace hearth::tune {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "hearth profile";
constexpr int kVersion = 1;
constexpr const char* kNeverWord = "never";
constexpr const char* kCollectives = "collectives";

Status wrong(const std::string& where, const std::string& what) {
  return fail(MPI_ERR_ARG, "%s: %s", where.c_str(), what.c_str());
}

/// A required member of an object; nullptr with an error in `status` if it is missing.
const Json* member(const Json& object, const char* name, const std::string& where, Status& status) {
  const auto found = object.find(name);
  if (found != object.end()) return &*found;
  status = wrong(where, "'" + std::string(name) + "' is missing");
  return nullptr;
}

Status read(const Json& object, const char* name, const std::string& where, std::string& value) {
  Status status;
  const Json* found = member(object, name, where, status);
  if (found == nullptr) return status;
  if (!found->is_string()) return wrong(where + "." + name, "expected a text");
  value = found->get<std::string>();
  return {};
}

Status read(const Json& object, const char* name, const std::string& where, bool& value) {
  Status status;
  const Json* found = member(object, name, where, status);
  if (found == nullptr) return status;
  if (!found->is_boolean()) return wrong(where + "." + name, "expected true or false");
  value = found->get<bool>();
  return {};
}

Status only(const Json& object, std::initializer_list<const char*> names, const std::string& where) {
  if (!object.is_object()) return wrong(where, "expected an object");
  for (const auto& entry : object.items()) {
    if (std::find(names.begin(), names.end(), entry.key()) == names.end())
      return wrong(where, "'" + entry.key() + "' is unknown");
  }
  return {};
}

Status read_machine(const Json& object, MachineIdentity& machine) {
  const std::string where = "machine";
  HEARTH_TRY(only(object, {"processor", "topology", "kernel", "hypervisor"}, where));
  HEARTH_TRY(read(object, "processor", where, machine.processor));
  HEARTH_TRY(read(object, "topology", where, machine.topology));
  HEARTH_TRY(read(object, "kernel", where, machine.kernel));
  return read(object, "hypervisor", where, machine.hypervisor);
}

Status read_finding(const Json& object, const std::string& where, Finding& finding) {
  HEARTH_TRY(only(object, {"value", "finding"}, where));
  if (const auto value = object.find("value"); value != object.end()) {
    if (value->is_string() && value->get<std::string>() == kNeverWord) {
      finding.value = kNever;
    } else if (value->is_number_unsigned() && value->get<uint64_t>() != kNever) {
      finding.value = value->get<uint64_t>();
    } else {
      return wrong(where + ".value", "expected a number that is not negative, or \"never\"");
    }
  }
  return read(object, "finding", where, finding.text);
}

Status read_curve(const Json& points, const std::string& where, Curve& curve) {
  if (!points.is_array()) return wrong(where, "expected a list of [bytes, ns]");
  for (const Json& point : points) {
    if (!point.is_array() || point.size() != 2 || !point[0].is_number_unsigned() || !point[1].is_number())
      return wrong(where, "expected pairs [bytes, ns]");
    curve.points.emplace_back(point[0].get<uint64_t>(), point[1].get<double>());
  }
  return {};
}

/// The parameter of that name that has a value per relation, or the one that has a single value.
bool find_parameter(const std::string& name, bool of_relation, param::Id& parameter) {
  const Threshold* threshold = of_relation ? find_threshold(name) : nullptr;
  const Limit* limit = of_relation ? nullptr : find_limit(name);
  if (threshold == nullptr && limit == nullptr) return false;
  parameter = threshold != nullptr ? threshold->parameter : limit->parameter;
  return true;
}

/// Reads the entries of a relation, or of collectives, which have no relation.
Status read_part(std::optional<topo::Relation> relation, const Json& object, const std::string& where,
                 Profile& profile) {
  HEARTH_TRY(only(object, {"thresholds", "curves"}, where));
  if (const auto thresholds = object.find("thresholds"); thresholds != object.end()) {
    if (!thresholds->is_object()) return wrong(where + ".thresholds", "expected an object");
    for (const auto& entry : thresholds->items()) {
      const std::string place = where + ".thresholds." + entry.key();
      Finding finding = {{}, relation, {}, ""};
      if (!find_parameter(entry.key(), relation.has_value(), finding.parameter))
        return wrong(place, "there is no such threshold");
      HEARTH_TRY(read_finding(entry.value(), place, finding));
      profile.findings.push_back(std::move(finding));
    }
  }
  if (const auto curves = object.find("curves"); curves != object.end()) {
    if (!curves->is_object()) return wrong(where + ".curves", "expected an object");
    for (const auto& entry : curves->items()) {
      Curve curve = {relation, entry.key(), {}};
      HEARTH_TRY(read_curve(entry.value(), where + ".curves." + entry.key(), curve));
      profile.curves.push_back(std::move(curve));
    }
  }
  return {};
}

Status read_document(const Json& document, Profile& profile) {
  const std::string top = "profile";
  HEARTH_TRY(
      only(document, {"format", "version", "made", "made_by", "machine", "relations", kCollectives}, top));
  std::string format;
  HEARTH_TRY(read(document, "format", top, format));
  if (format != kFormat) return wrong("format", "'" + format + "' is not '" + kFormat + "'");
  Status status;
  const Json* version = member(document, "version", top, status);
  if (version == nullptr) return status;
  if (*version != kVersion)
    return wrong("version", version->dump() + " is not " + std::to_string(kVersion) +
                                ", which this version of Hearth reads. Remedy: hearth tune");
  HEARTH_TRY(read(document, "made", top, profile.made));
  HEARTH_TRY(read(document, "made_by", top, profile.made_by));
  const Json* machine = member(document, "machine", top, status);
  if (machine == nullptr) return status;
  HEARTH_TRY(read_machine(*machine, profile.machine));
  const Json* relations = member(document, "relations", top, status);
  if (relations == nullptr) return status;
  if (!relations->is_object()) return wrong("relations", "expected an object");
  for (const auto& entry : relations->items()) {
    const std::string where = "relations." + entry.key();
    topo::Relation relation;
    if (!topo::find_relation(entry.key().c_str(), relation)) return wrong(where, "there is no such relation");
    HEARTH_TRY(read_part(relation, entry.value(), where, profile));
  }
  const auto collectives = document.find(kCollectives);
  return collectives == document.end() ? Status()
                                       : read_part(std::nullopt, *collectives, kCollectives, profile);
}

std::string in_home(const char* variable, const char* usual) {
  if (const char* folder = std::getenv(variable); folder != nullptr && *folder == '/')
    return std::string(folder) + "/hearth/profile.json";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home != '/' || home[1] == '\0') return "";
  return std::string(home) + usual + "/hearth/profile.json";
}

}  // namespace

std::vector<Tuned> Profile::values() const {
  std::vector<Tuned> result;
  for (const Finding& finding : findings) {
    if (finding.value) result.push_back({finding.parameter, finding.relation, *finding.value});
  }
  return result;
}

const Finding* Profile::find(param::Id parameter, std::optional<topo::Relation> relation) const {
  for (const Finding& finding : findings) {
    if (finding.parameter == parameter && finding.relation == relation) return &finding;
  }
  return nullptr;
}

Status parse_profile(const std::string& text, Profile& profile) {
  profile = {};
  const Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded()) return wrong("profile", "this is not JSON");
  return read_document(document, profile);
}

std::string profile_text(const Profile& profile) {
  Json relations = Json::object();
  Json collectives = Json::object();
  const auto part = [&](std::optional<topo::Relation> relation) -> Json& {
    return relation ? relations[topo::relation_name(*relation)] : collectives;
  };
  for (const Finding& finding : profile.findings) {
    Json entry = Json::object();
    if (finding.value) entry["value"] = *finding.value == kNever ? Json(kNeverWord) : Json(*finding.value);
    entry["finding"] = finding.text;
    part(finding.relation)["thresholds"][name_of(finding.parameter)] = entry;
  }
  for (const Curve& curve : profile.curves) {
    Json points = Json::array();
    for (const auto& [bytes, ns] : curve.points) points.push_back(Json::array({bytes, ns}));
    part(curve.relation)["curves"][curve.name] = std::move(points);
  }
  Json document = {{"format", kFormat},
                   {"version", kVersion},
                   {"made", profile.made},
                   {"made_by", profile.made_by},
                   {"machine",
                    {{"processor", profile.machine.processor},
                     {"topology", profile.machine.topology},
                     {"kernel", profile.machine.kernel},
                     {"hypervisor", profile.machine.hypervisor}}},
                   {"relations", relations}};
  if (!collectives.empty()) document[kCollectives] = collectives;
  return document.dump(1) + "\n";
}

std::string own_profile_path() {
  return in_home("XDG_CACHE_HOME", "/.cache");
}

ProfileSearch find_profile(const topo::Machine& machine) {
  ProfileSearch search;
  const std::string& chosen = param::get_text(param::Id::profile);
  if (chosen == "none") return search;
  std::vector<std::string> places = {chosen};
  if (chosen.empty())
    places = {in_home("XDG_CONFIG_HOME", "/.config"), own_profile_path(), "/etc/hearth/profile.json"};
  for (const std::string& path : places) {
    if (path.empty()) continue;
    if (!os::path_exists(path.c_str())) {
      if (!chosen.empty()) search.notes.push_back("HEARTH_PROFILE: '" + path + "' is not there; ignored");
      continue;
    }
    Profile profile;
    if (!parse_profile(os::read_text(path.c_str()), profile).ok()) {
      search.notes.push_back("profile '" + path + "' is ignored: " + last_failure_text());
      continue;
    }
    const std::string other = difference(profile.machine, MachineIdentity::of(machine));
    if (!other.empty()) {
      search.notes.push_back("profile '" + path + "' is ignored: it was made on another machine: " + other +
                             ". Remedy: hearth tune");
      continue;
    }
    search.profile = std::move(profile);
    search.path = path;
    return search;
  }
  return search;
}

}  // namespace hearth::tune
