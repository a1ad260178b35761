// mpiexec's command line. Accepts the options of Open MPI and of Hydra (MPICH, Intel MPI). options.cpp has
// one row per option; --help and the man page are made from those rows.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "launch/placement.h"

namespace hearth::launch {

/// mpiexec's exit code for a command line that it cannot carry out.
inline constexpr int kUsageCode = 2;

/// A change to the environment: NAME=VALUE, or NAME alone to pass on mpiexec's own value.
struct EnvironmentEdit {
  std::string name;
  std::string value;
  bool pass_on = false;
};

/// One program of the command line; ':' separates them.
struct ProgramSpec {
  int ranks = 0;  // 0: not given
  std::string folder;
  std::string search_path;  // instead of PATH; "" for PATH
  std::vector<EnvironmentEdit> environment;
  std::vector<std::string> command;
};

/// A yes/no option that may be absent.
enum class Choice { unsaid, yes, no };

/// Whether ranks inherit mpiexec's whole environment, or only the variables named.
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
  bool merge_output = false;   // standard error is sent to standard output
  std::string output_pattern;  // file for standard output, %r is the rank; "" for none
  std::string error_pattern;
  int input_rank = 0;                      // rank that receives standard input; -1: none
  uint64_t timeout_ns = 0;                 // 0: none
  uint64_t why_ns = 0;                     // --why; 0: not requested
  bool keep_waiting = false;               // --keep-waiting
  std::string check;                       // --check: value as in HEARTH_CHECK; "": not given
  std::string check_json;                  // "" for none
  int spawned_by = -1;                     // --spawned-by: socket to the rank that started this job
  bool survive = false;                    // the death of a rank does not end the others
  std::vector<std::string> profile_files;  // --profile; JSON if the name ends in .json, else HTML
  std::string trace_file;                  // --trace; "" for none
  std::string chaos;                       // --chaos: value as in HEARTH_CHAOS; "": not given
  bool report_bindings = false;
  Choice share_heap = Choice::unsaid;
  bool do_not_launch = false;
  bool show_help = false;
  bool show_version = false;
  bool show_man_page = false;                     // --man-page, which the build uses
  std::vector<std::vector<std::string>> ignored;  // options without effect on one machine, with values
};

/// Parses the command line (without the program's own name) and MPIEXEC_TIMEOUT.
Status parse_command_line(const std::vector<std::string>& words, JobSpec& job);

/// An option as --help and the man page show it.
struct OptionText {
  std::vector<std::string> names;  // with their dashes
  std::string arguments;           // what follows the last name: " N", "[=SECONDS]" or nothing
  const char* text = nullptr;      // null: accepted, but without effect on one machine
};
/// All options except hidden ones, in the order of --help.
std::vector<OptionText> option_texts();

/// The text of --help.
std::string help_text();
/// The man page of mpiexec, for troff.
std::string man_page_text();

}  // namespace hearth::launch
