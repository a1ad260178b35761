// Makes a program that was built for another MPI library run on Hearth, or returns the reason why it cannot.
// The libraries for that are in the folder of libmpi_abi.so.1: libmpi.so.12 and libmpich.so.12 for programs
// of MPICH's ABI, libmpi.so.40 for those of Open MPI's. mpiexec changes the environment of the program's
// ranks; `hearth info PROGRAM` shows what mpiexec would do.
#pragma once

#include <string>
#include <vector>

#include "launch/program_mpi.h"

namespace hearth::launch {

/// Properties of the start of a program.
struct MpiSurroundings {
  std::string libraries;  // the lib folder of this installation; "" if unknown
  std::string folder;     // the rank's working folder; "" for the current one
  bool checks = false;    // --check
};

struct MpiPlan {
  std::string problem;  // why it must not be started, with a remedy; "" if it may be
  bool usage = false;   // the problem is a wrong combination of options
  std::string outcome;  // which library it gets and how; for `hearth info`
};

/// Changes `environment` so that the program gets Hearth's library: LD_LIBRARY_PATH, or LD_PRELOAD if the
/// program names other folders that precede that (DT_RPATH). A program without an MPI library of its own (a
/// script, Python, a debugger) gets LD_LIBRARY_PATH and MPI4PY_LIBMPI for what it starts or loads, if this
/// installation has libraries for other ABIs. Pre: `mpi` is that of `program` with this environment.
MpiPlan plan_mpi(const ProgramMpi& mpi, const std::string& program, const MpiSurroundings& surroundings,
                 std::vector<std::string>& environment);

/// Other libraries than Hearth's among the files that a process has mapped, from the text of /proc/PID/maps.
/// `root` is the folder under which the process's files are visible. Empty also if Hearth's is mapped.
std::vector<MpiLibrary> other_mpis_mapped(const std::string& maps, const std::string& root);

/// The remedy for a program that has loaded another library.
std::string remedy_for(const MpiName& what, const std::string& libraries);

}  // namespace hearth::launch
