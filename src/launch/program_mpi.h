// Determines for which MPI library a program was built, from the libraries that it needs and without running
// it. Used by mpiexec before it starts ranks, and by `hearth info PROGRAM`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth::launch {

/// Groups of MPI libraries whose programs can use each other's library.
enum class MpiAbi {
  none,
  standard,  // of MPI 5.0: libmpi_abi.so.1
  mpich,     // of MPICH since 3.1, Intel MPI, MVAPICH: libmpi.so.12
  open_mpi,  // of Open MPI 3 to 5: libmpi.so.40
  other,     // none that Hearth has a library for
};

/// An MPI library as its file name shows it.
struct MpiName {
  MpiAbi abi = MpiAbi::none;
  const char* title = "";  // "Open MPI 3 to 5"
  // Needed in addition to the main library, such as Fortran's; alone it does not identify the program's MPI.
  bool companion = false;
};
/// `abi` is none if the name is not that of an MPI library: "libmpi.so.12".
MpiName mpi_name_of(std::string_view file_name);

/// An MPI library that a program needs.
struct MpiLibrary {
  std::string name;
  MpiName what;
  std::string path;       // where the loader finds it; "" if nowhere
  std::string needed_by;  // the program or a library of it
};

struct ProgramMpi {
  std::string program;  // the ELF file that runs: for a script its interpreter; "" if there is none
  bool is_script = false;
  bool is_static = false;
  bool is_python = false;
  std::vector<MpiLibrary> libraries;

  /// `none` if it needs no MPI library, `other` also if it needs several of different ABIs.
  MpiAbi abi() const;
  /// The libraries with different titles: "Open MPI 3 to 5 (libmpi.so.40) and MPICH (libmpi.so.12, needed by
  /// libx.so)".
  std::string description() const;
};

/// Pre: `program` is a path, relative to `folder`; `environment` and `folder` are those of the rank.
ProgramMpi find_program_mpi(const std::string& program, const std::vector<std::string>& environment,
                            const std::string& folder);

/// The interpreter that the first line of a script names, and its words: {"/usr/bin/env", "python3"}. Empty
/// if the text does not begin as a script.
std::vector<std::string> interpreter_of(std::string_view beginning);

/// Whether a file is a library of Hearth: the standard ABI's, or one that makes programs of another MPI run
/// on Hearth.
bool is_hearth_library(const std::string& path);

}  // namespace hearth::launch
