// Finds the program that a command names, and builds the environment of its ranks.
#pragma once

#include <string>
#include <vector>

#include "launch/options.h"

namespace hearth::launch {

/// The result of a search: the program's path, or the reason for failure.
struct FoundProgram {
  std::string path;     // what to execute
  std::string problem;  // "" if found; else the text that follows "cannot start 'x': "
  int exit_code = 0;    // 127: missing, 126: exists but is not executable
};
/// A name with a slash is relative to the ranks' working folder. Any other name is searched for in PATH, then
/// in the working folder.
FoundProgram find_program(const std::string& name, const std::string& folder, const std::string& search_path);

/// The message and the exit code for a failed execution of `path` with errno `error`.
FoundProgram explain_failed_start(const std::string& path, int error);

/// Identity of one rank, for its environment.
struct RankIdentity {
  int rank = 0;
  int rank_count = 0;
  int program = 0;      // index on the command line: MPI_APPNUM
  std::string segment;  // value of HEARTH_SEGMENT
  std::string arena;    // value of HEARTH_ARENA; "" for none
  std::string board;    // value of HEARTH_BOARD; "" for none
};

/// "NAME=VALUE" entries common to all ranks of a program: mpiexec's own environment or none of it, without
/// another launcher's variables, plus the changes of the command line.
std::vector<std::string> program_environment(const JobSpec& job, const ProgramSpec& program, char** own);
/// Adds the variables that give a rank its identity: those of Hearth, Open MPI, PMI and Intel MPI.
void add_rank_variables(const RankIdentity& identity, std::vector<std::string>& environment);

/// Resolves a relative name against a folder; "" is the current folder.
std::string in_folder(const std::string& folder, const std::string& name);

/// Replaces the entry of this name, or appends one.
void set_variable(std::vector<std::string>& environment, const std::string& name, const std::string& value);
/// Null-terminated array of pointers into `words`, for execve and argv.
std::vector<char*> pointers_to(const std::vector<std::string>& words);

/// The value of a name; nullptr if it is not set.
const char* find_variable(const std::vector<std::string>& environment, const std::string& name);

}  // namespace hearth::launch
