#include "launch/auto_tune.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/os_io.h"
#include "base/os_machine.h"
#include "base/os_process.h"
#include "base/param.h"
#include "launch/program.h"
#include "tune/profile.h"
#include "tune/threshold.h"

namespace hearth::launch {
namespace {

// A profile that does not fit this machine is kept: it may belong to another machine that shares the home
// folder, and mpiexec has reported that it is ignored.
bool is_wanted(const topo::Machine& machine, bool has_profile) {
  if (has_profile || !param::get_flag(param::Id::auto_tune) || !os::is_terminal(2)) return false;
  if (!param::get_text(param::Id::profile).empty() || machine.processors().size() < 2) return false;
  // This mpiexec runs inside another job.
  if (std::getenv("HEARTH_RANK") != nullptr || std::getenv(tune::kVariable) != nullptr) return false;
  const std::string place = tune::own_profile_path();
  return !place.empty() && !os::path_exists(place.c_str());
}

}  // namespace

void tune_in_background(const topo::Machine& machine, bool has_profile, char** environment) {
  if (!is_wanted(machine, has_profile)) return;
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return;
  const std::string tool = self.parent_path() / "hearth";
  if (!os::is_executable(tool.c_str())) return;
  const std::vector<std::string> command = {tool, "tune", "--background"};
  os::start_detached(tool.c_str(), pointers_to(command).data(), environment);
}

}  // namespace hearth::launch
