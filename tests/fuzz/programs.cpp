// A program or script that mpiexec examines before it starts it, what a process has mapped, and the cache of
// the system's loader.
#include <cstdio>

#include "fuzz.h"
#include "launch/library_search.h"
#include "launch/other_mpi.h"
#include "launch/program_mpi.h"

using namespace hearth;

namespace {

// The program's own path leads back to it: it needs itself, or is its own interpreter.
void examine_program(const std::string& contents) {
  std::FILE* file = std::tmpfile();
  if (file == nullptr) return;
  std::fwrite(contents.data(), 1, contents.size(), file);
  std::fflush(file);
  const std::string path = "/proc/self/fd/" + std::to_string(fileno(file));
  std::vector<std::string> environment = {"LD_LIBRARY_PATH=/proc/self/fd", "PATH=/proc/self/fd"};
  const launch::ProgramMpi mpi = launch::find_program_mpi(path, environment, "");
  fuzz::demand(mpi.libraries.empty() == (mpi.abi() == launch::MpiAbi::none), "libraries have an ABI");
  const launch::MpiPlan plan = launch::plan_mpi(mpi, path, {"/nowhere", "", false}, environment);
  fuzz::demand(plan.problem.empty() != plan.outcome.empty(), "a program is started or refused");
  std::fclose(file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  fuzz::Input input(data, bytes);
  switch (input.below(3)) {
    case 0:
      examine_program(input.rest());
      break;
    case 1:
      for (const launch::MpiLibrary& library : launch::other_mpis_mapped(input.rest(), "/nowhere")) {
        fuzz::demand(library.what.abi != launch::MpiAbi::none && !library.path.empty(), "only MPI libraries");
      }
      break;
    default:
      for (const std::string& path : launch::paths_in_cache(input.rest(), "liba.so")) {
        fuzz::demand(path.find('\0') == std::string::npos, "a path ends at its first zero");
      }
  }
  return 0;
}
