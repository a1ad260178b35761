// mpiexec's command line, in the words of Open MPI and of Hydra (MPICH, Intel MPI) alike. One row per option
// in options.cpp; --help is printed from those rows.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "launch/placement.h"

namespace hearth::launch {

/// A change to the environment: NAME=VALUE, or NAME alone to pass on what mpiexec was given.
struct EnvironmentEdit {
  std::string name;
  std::string value;
  bool pass_on = false;
};

/// One program between two ':' of the command line.
struct ProgramSpec {
  int ranks = 0;  // 0: not said
  std::string folder;
  std::vector<EnvironmentEdit> environment;
  std::vector<std::string> command;
};

/// What an option that may be left out says.
enum class Choice { unsaid, yes, no };

/// Whether ranks get the environment of mpiexec, or of it only what is named.
enum class Inherit { all, none };

struct JobSpec {
  std::vector<ProgramSpec> programs;
  std::vector<EnvironmentEdit> environment;
  std::string folder;
  Inherit inherit = Inherit::all;
  PlacementRequest placement;
  std::string traffic_file;  // --place-by; "" for none
  int ranks_per_node = 0;
  std::vector<std::string> hosts;  // as given, "name" or "name:slots"
  bool tag_output = false;
  bool merge_output = false;   // standard error goes where standard output goes
  std::string output_pattern;  // file for standard output, %r is the rank; "" for none
  std::string error_pattern;
  int input_rank = 0;                      // who gets standard input; -1: nobody
  uint64_t timeout_ns = 0;                 // 0: none
  uint64_t why_ns = 0;                     // --why; 0: not asked for
  bool keep_waiting = false;               // --keep-waiting
  std::string check;                       // --check: as HEARTH_CHECK; "": not said
  std::string check_json;                  // "" for none
  bool survive = false;                    // the death of a rank is no reason to end the others
  std::vector<std::string> profile_files;  // --profile; JSON where the name ends so, else a page
  std::string trace_file;                  // --trace; "" for none
  std::string chaos;                       // --chaos: as HEARTH_CHAOS; "": not said
  bool report_bindings = false;
  Choice share_heap = Choice::unsaid;
  bool do_not_launch = false;
  bool show_help = false;
  bool show_version = false;
  std::vector<std::vector<std::string>> ignored;  // options without a meaning on one machine, with values
};

/// Reads the command line (without the program's own name) and MPIEXEC_TIMEOUT.
Status parse_command_line(const std::vector<std::string>& words, JobSpec& job);

/// What --help prints.
std::string help_text();

}  // namespace hearth::launch
