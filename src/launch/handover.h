// A job for other machines: mpiexec hands it to a launcher that can reach them and whose PMI or PMIx our
// ranks speak (bootstrap.h), with the options in that launcher's words. Pure computation; called by mpiexec,
// which becomes the other program.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "launch/options.h"

namespace hearth::launch {

struct Handover {
  std::string path;                       // the program that takes the job
  std::string title;                      // "PRRTE", for people
  std::vector<std::string> command;       // begins with its name
  std::vector<EnvironmentEdit> settings;  // variables for that program itself
  std::vector<std::string> left_out;      // what was asked for and it has no word for
};

/// Chooses among the launchers that are in `search_path`: `wish` (prrte, hydra, slurm; "": Slurm's in an
/// allocation of Slurm's, otherwise the first that is there) and translates the job. `names` are those of the
/// variables that mpiexec was given.
Status hand_over(const JobSpec& job, const std::string& search_path, const std::string& wish,
                 bool in_allocation, const std::vector<std::string>& names, Handover& handover);

}  // namespace hearth::launch
