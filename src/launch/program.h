// Finding the program that a command names, and the environment that its ranks get.
#pragma once

#include <string>
#include <vector>

#include "launch/options.h"

namespace hearth::launch {

/// The result of a search: where the program is, or why not.
struct FoundProgram {
  std::string path;     // what to execute
  std::string problem;  // "" when found; else the words behind "cannot start 'x': "
  int exit_code = 0;    // 127: missing, 126: there, but not executable
};
/// A name with a slash is taken as it is, relative to the ranks' working folder; another is searched for in
/// PATH, then in the working folder.
FoundProgram find_program(const std::string& name, const std::string& folder, const std::string& search_path);

/// What to say when executing `path` failed with `error`, and the exit code that belongs to it.
FoundProgram explain_failed_start(const std::string& path, int error);

/// What one rank is told about itself and the job.
struct RankIdentity {
  int rank = 0;
  int rank_count = 0;
  int program = 0;      // which one of the command line: MPI_APPNUM
  std::string segment;  // value of HEARTH_SEGMENT
  std::string arena;    // value of HEARTH_ARENA; "" for none
  std::string board;    // value of HEARTH_BOARD; "" for none
};

/// "NAME=VALUE" entries common to all ranks of a program: mpiexec's own environment or none of it, without
/// what another launcher left there, and the changes of the command line.
std::vector<std::string> program_environment(const JobSpec& job, const ProgramSpec& program, char** own);
/// Adds what tells a rank who it is, in the words of Hearth, Open MPI, PMI and Intel MPI.
void add_rank_variables(const RankIdentity& identity, std::vector<std::string>& environment);

/// A relative name as seen from a folder; "" is the own one.
std::string in_folder(const std::string& folder, const std::string& name);

/// Changes the entry of this name, or adds one.
void set_variable(std::vector<std::string>& environment, const std::string& name, const std::string& value);
/// As the system wants words: pointers, the last one null. They point into the words.
std::vector<char*> pointers_to(const std::vector<std::string>& words);

/// The value of a name, nullptr when it is not there.
const char* find_variable(const std::vector<std::string>& environment, const std::string& name);

}  // namespace hearth::launch
