// Launcher delegation: for a job on other machines, mpiexec becomes a launcher that can reach them and that
// serves PMI or PMIx to our ranks (bootstrap.h). The options are translated to that launcher's own. Pure
// computation; called by mpiexec, which then executes the other program.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "launch/options.h"

namespace hearth::launch {

struct Delegation {
  std::string path;                       // the other launcher
  std::string title;                      // "PRRTE", for messages
  std::vector<std::string> command;       // starts with the program's name
  std::vector<EnvironmentEdit> settings;  // variables for the launcher itself
  std::vector<std::string> left_out;      // requested options that the launcher does not support
};

/// Chooses a launcher from `search_path` and translates the job. `wish` is prrte, hydra or slurm; with "",
/// Slurm's within a Slurm allocation, otherwise the first that is found. `names` are the names of mpiexec's
/// environment variables.
Status delegate_job(const JobSpec& job, const std::string& search_path, const std::string& wish,
                    bool in_allocation, const std::vector<std::string>& names, Delegation& delegation);

}  // namespace hearth::launch
