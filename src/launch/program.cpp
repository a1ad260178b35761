#include "launch/program.h"

#include <cerrno>
#include <cstring>

#include "base/os_machine.h"

namespace hearth::launch {
namespace {

constexpr const char* kUsualPath = "/usr/local/bin:/usr/bin:/bin";

bool has_name(const std::string& entry, const std::string& name) {
  return entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name);
}

// Variables by which a process finds its launcher's server. Those of an outer launcher are removed: they
// would lead a program of another MPI library to a server that does not know our ranks.
bool belongs_to_outer_launcher(const std::string& entry) {
  for (const char* name :
       {"PMI_FD", "PMI_PORT", "PMI_ID", "PMI_SPAWNED", "PMIX_NAMESPACE", "PMIX_SECURITY_MODE",
        "HEARTH_SEGMENT", "HEARTH_ARENA", "HEARTH_BOARD", "HEARTH_CHECK_BOARD", "HEARTH_RANK", "HEARTH_APP",
        "HEARTH_TUNED", "HEARTH_JOINED", "HEARTH_PARENT"}) {
    if (has_name(entry, name)) return true;
  }
  return entry.starts_with("PMIX_SERVER_");
}

void apply(const EnvironmentEdit& edit, char** own, std::vector<std::string>& environment) {
  if (!edit.pass_on) {
    set_variable(environment, edit.name, edit.value);
    return;
  }
  for (char** entry = own; *entry != nullptr; ++entry) {
    if (has_name(*entry, edit.name)) set_variable(environment, edit.name, *entry + edit.name.size() + 1);
  }
}

}  // namespace

std::string in_folder(const std::string& folder, const std::string& name) {
  if (folder.empty() || name.starts_with("/")) return name;
  return folder + "/" + name;
}

FoundProgram find_program(const std::string& name, const std::string& folder,
                          const std::string& search_path) {
  if (name.find('/') != std::string::npos) return {name, "", 0};
  const std::string path = search_path.empty() ? kUsualPath : search_path;
  std::string unusable;
  for (size_t start = 0; start <= path.size();) {
    const size_t end = std::min(path.find(':', start), path.size());
    const std::string place = end == start ? "." : path.substr(start, end - start);
    const std::string candidate = place + "/" + name;
    if (os::is_executable(in_folder(folder, candidate).c_str())) return {candidate, "", 0};
    if (os::path_exists(in_folder(folder, candidate).c_str()) && unusable.empty()) unusable = candidate;
    start = end + 1;
  }
  const std::string here = "./" + name;
  if (os::is_executable(in_folder(folder, here).c_str())) return {here, "", 0};
  if (os::path_exists(in_folder(folder, here).c_str()) && unusable.empty()) unusable = here;
  if (!unusable.empty()) return {"", unusable + " is not an executable file", 126};
  return {"", "No such file (searched PATH " + path + " and the working folder)", 127};
}

FoundProgram explain_failed_start(const std::string& path, int error) {
  if (error == ENOENT && os::path_exists(path.c_str())) {
    return {"", "the file is there, but the interpreter or loader that it names is not", 127};
  }
  if (error == ENOENT || error == ENOTDIR) return {"", "No such file", 127};
  if (error == EACCES)
    return {"", "Permission denied (is it an executable file? chmod +x makes it one)", 126};
  return {"", std::strerror(error), 126};
}

std::vector<std::string> program_environment(const JobSpec& job, const ProgramSpec& program, char** own) {
  std::vector<std::string> environment;
  for (char** entry = own; job.inherit == Inherit::all && *entry != nullptr; ++entry) {
    if (!belongs_to_outer_launcher(*entry)) environment.emplace_back(*entry);
  }
  for (const EnvironmentEdit& edit : job.environment) apply(edit, own, environment);
  for (const EnvironmentEdit& edit : program.environment) apply(edit, own, environment);
  const std::string& folder = program.folder.empty() ? job.folder : program.folder;
  if (folder.starts_with("/")) set_variable(environment, "PWD", folder);
  return environment;
}

void add_rank_variables(const RankIdentity& identity, std::vector<std::string>& environment) {
  const std::string rank = std::to_string(identity.rank);
  const std::string count = std::to_string(identity.rank_count);
  set_variable(environment, "HEARTH_SEGMENT", identity.segment);
  if (!identity.arena.empty()) set_variable(environment, "HEARTH_ARENA", identity.arena);
  if (!identity.board.empty()) set_variable(environment, "HEARTH_BOARD", identity.board);
  set_variable(environment, "HEARTH_APP", std::to_string(identity.program));
  // On one machine the local rank equals the rank.
  for (const char* name : {"HEARTH_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_RANK",
                           "PMIX_RANK", "MPI_LOCALRANKID"}) {
    set_variable(environment, name, rank);
  }
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_UNIVERSE_SIZE",
                           "PMI_SIZE", "MPI_LOCALNRANKS"}) {
    set_variable(environment, name, count);
  }
  set_variable(environment, "OMPI_COMM_WORLD_NODE_RANK", rank);
}

void set_variable(std::vector<std::string>& environment, const std::string& name, const std::string& value) {
  for (std::string& entry : environment) {
    if (has_name(entry, name)) {
      entry = name + "=" + value;
      return;
    }
  }
  environment.push_back(name + "=" + value);
}

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> result;
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

const char* find_variable(const std::vector<std::string>& environment, const std::string& name) {
  for (const std::string& entry : environment) {
    if (has_name(entry, name)) return entry.c_str() + name.size() + 1;
  }
  return nullptr;
}

}  // namespace hearth::launch
