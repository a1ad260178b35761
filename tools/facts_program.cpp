#include <cstdlib>
#include <filesystem>

#include "facts.h"
#include "launch/heap_preload.h"
#include "launch/other_mpi.h"
#include "launch/program.h"
#include "launch/program_mpi.h"
#include "mpi.h"

extern char** environ;

namespace hearth::tools {
namespace {

std::string kind_of(const launch::ProgramMpi& mpi) {
  if (mpi.is_script)
    return mpi.program.empty() ? "script without an interpreter" : "script for " + mpi.program;
  if (mpi.program.empty()) return "no ELF file and no script";
  return mpi.is_static ? "program, linked statically" : "program";
}

std::string built_for(const launch::ProgramMpi& mpi) {
  return mpi.libraries.empty() ? "none: it needs no MPI library" : mpi.description();
}

}  // namespace

Status program_facts(const std::string& name, Json& facts) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  const char* search_path = std::getenv("PATH");
  const launch::FoundProgram found =
      launch::find_program(name, "", search_path == nullptr ? "" : search_path);
  std::error_code error;
  if (!found.problem.empty() || !std::filesystem::exists(found.path, error)) {
    return fail(MPI_ERR_ARG, "cannot examine '%s': %s", name.c_str(),
                found.problem.empty() ? "No such file" : found.problem.c_str());
  }
  const launch::ProgramMpi mpi = launch::find_program_mpi(found.path, environment, "");
  const std::vector<std::string> before = environment;
  const launch::MpiPlan plan =
      launch::plan_mpi(mpi, found.path, {launch::library_folder(), "", false}, environment);
  facts["file"] = found.path;
  facts["kind"] = kind_of(mpi);
  facts["built_for"] = built_for(mpi);
  facts["under_mpiexec_it_gets"] =
      plan.problem.empty() ? plan.outcome : "nothing, mpiexec refuses it: " + plan.problem;
  Json variables = Json::array();
  for (const char* variable : {"LD_LIBRARY_PATH", "LD_PRELOAD", "MPI4PY_LIBMPI"}) {
    const char* value = launch::find_variable(environment, variable);
    const char* former = launch::find_variable(before, variable);
    if (value == nullptr || (former != nullptr && std::string(value) == former)) continue;
    variables.push_back({{"variable_of_its_ranks", variable}, {"value", value}});
  }
  if (!variables.empty()) facts["variables"] = variables;
  Json rows = Json::array();
  for (const launch::MpiLibrary& library : mpi.libraries) {
    rows.push_back({{"library", library.name},
                    {"of", library.what.title},
                    {"without_mpiexec_found_at", library.path.empty() ? "nowhere" : library.path},
                    {"needed_by", library.needed_by}});
  }
  if (!rows.empty()) facts["libraries"] = rows;
  return {};
}

}  // namespace hearth::tools
