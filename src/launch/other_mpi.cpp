#include "launch/other_mpi.h"

#include <algorithm>
#include <filesystem>

#include "base/os_machine.h"
#include "launch/base_name.h"
#include "launch/heap_preload.h"
#include "launch/program.h"

namespace hearth::launch {
namespace {

namespace fs = std::filesystem;

// The variable in which mpi4py's loader looks up the library's path before it searches (mpi4py/_mpiabi.py).
constexpr const char* kPythonLibrary = "MPI4PY_LIBMPI";
constexpr const char* kLibraryPath = "LD_LIBRARY_PATH";
// Libraries for other ABIs, in the order in which mpi4py is offered one.
constexpr const char* kFacades[] = {"libmpi.so.12", "libmpi.so.40"};
// A lib folder with one of these belongs to a whole distribution, such as conda's. In front of
// LD_LIBRARY_PATH it would replace libraries of programs that have nothing to do with MPI.
constexpr const char* kDistributions[] = {"libstdc++.so.6", "libgcc_s.so.1", "libc.so.6"};

constexpr const char* kSingletons = "each rank would be rank 0 of a job of its own";
constexpr const char* kRebuild =
    "build it with Hearth's mpicc, or start it with the mpiexec of the library that it was built for";

bool same_folder(const std::string& path, const std::string& folder) {
  std::error_code error;
  return fs::equivalent(fs::path(path).parent_path(), folder, error) && !error;
}

class Planner {
 public:
  Planner(const ProgramMpi& mpi, const std::string& program, const MpiSurroundings& surroundings,
          std::vector<std::string>& environment)
      : mpi_(mpi), program_(program), around_(surroundings), environment_(environment) {}

  MpiPlan plan() {
    switch (mpi_.abi()) {
      case MpiAbi::none:
        return without_mpi();
      case MpiAbi::other:
        return refuse_other();
      case MpiAbi::standard:
        break;
      case MpiAbi::mpich:
      case MpiAbi::open_mpi:
        if (around_.checks) return refuse_checks();
        break;
    }
    return replace();
  }

 private:
  std::string built_for() const { return "it was built for " + mpi_.description(); }
  std::string in_libraries(const std::string& name) const { return around_.libraries + "/" + base_of(name); }

  static MpiPlan refusal(const std::string& text) { return {text, false, ""}; }

  MpiPlan refuse_other() const {
    const auto is_other = [](const MpiLibrary& library) { return library.what.abi == MpiAbi::other; };
    if (std::all_of(mpi_.libraries.begin(), mpi_.libraries.end(), is_other)) {
      return refusal(built_for() + ", which Hearth cannot replace: " + kSingletons + ". Remedy: " + kRebuild);
    }
    return refusal("it needs two MPI libraries, " + mpi_.description() +
                   ", which cannot work in one process. Remedy: build all its parts for one of them, best "
                   "with Hearth's mpicc");
  }

  MpiPlan refuse_checks() const {
    return {
        "--check examines programs that were built with Hearth's mpicc; " + built_for() +
            ", whose arguments it would misread. Remedy: leave --check away, or build it with Hearth's mpicc",
        true, ""};
  }

  // A Fortran library for the standard ABI may come from another MPI: it calls the C functions.
  bool counts(const MpiLibrary& library) const {
    return !(library.what.abi == MpiAbi::standard && library.what.companion);
  }

  bool is_ours(const MpiLibrary& library) const {
    if (!counts(library)) return true;
    if (library.path.empty()) return false;
    const std::string path = in_folder(around_.folder, library.path);
    return is_hearth_library(path) || (library.what.companion && same_folder(path, around_.libraries));
  }

  bool all_ours(const ProgramMpi& mpi) const {
    return std::all_of(mpi.libraries.begin(), mpi.libraries.end(),
                       [this](const MpiLibrary& library) { return is_ours(library); });
  }

  bool all_ours_now() const { return all_ours(find_program_mpi(program_, environment_, around_.folder)); }

  // The reason, as text, why this installation has no library of this name; "" if it has one.
  std::string lack_of(const MpiLibrary& library) const {
    if (!counts(library)) return "";
    const std::string own = in_libraries(library.name);
    if (around_.libraries.empty() || !os::path_exists(own.c_str())) {
      return built_for() + ", and this installation of Hearth has no " + base_of(library.name) +
             " in its place (" + around_.libraries + "): " + kSingletons + ". Remedy: " + kRebuild;
    }
    if (library.what.companion || is_hearth_library(own)) return "";
    return own +
           " is not Hearth's: another MPI library was installed into the same folder. Remedy: remove that "
           "one, and install Hearth again";
  }

  MpiPlan replace() {
    if (all_ours(mpi_)) return {"", false, "Hearth, which it finds by itself"};
    for (const MpiLibrary& library : mpi_.libraries) {
      const std::string lack = lack_of(library);
      if (!lack.empty()) return refusal(lack);
    }
    if (put_in_front() && all_ours_now()) return {"", false, "Hearth, by LD_LIBRARY_PATH of its ranks"};
    if (preload() && all_ours_now()) {
      return {"", false,
              "Hearth, by LD_PRELOAD of its ranks: DT_RPATH in the program precedes LD_LIBRARY_PATH"};
    }
    return refusal(built_for() + ", and Hearth's library in " + around_.libraries +
                   " cannot be put in its place. Likely cause: the program names its library by a path, or "
                   "Hearth's path has a colon or a space in it. Remedy: " +
                   kRebuild);
  }

  bool put_in_front() {
    if (around_.libraries.find_first_of(":;") != std::string::npos) return false;
    const char* former = find_variable(environment_, kLibraryPath);
    const std::string rest = former == nullptr || *former == '\0' ? "" : ":" + std::string(former);
    set_variable(environment_, kLibraryPath, around_.libraries + rest);
    return true;
  }

  bool preload() {
    if (around_.libraries.find_first_of(": ") != std::string::npos) return false;
    for (const MpiLibrary& library : mpi_.libraries) {
      if (counts(library)) add_preload(in_libraries(library.name), environment_);
    }
    return true;
  }

  MpiPlan without_mpi() {
    if (mpi_.is_static) {
      return {"", false,
              "nothing of Hearth: it is linked statically, with the MPI library that it uses, if any"};
    }
    std::string facade;
    for (const char* name : kFacades) {
      if (facade.empty() && is_hearth_library(in_libraries(name))) facade = in_libraries(name);
    }
    if (facade.empty()) {
      return {"", false, "Hearth, if what it loads or starts was built for the standard ABI of MPI 5"};
    }
    std::string outcome = "Hearth, if what it loads or starts uses MPI: by " + std::string(kPythonLibrary);
    if (find_variable(environment_, kPythonLibrary) == nullptr) {
      set_variable(environment_, kPythonLibrary, facade);
    }
    const bool shared =
        std::any_of(std::begin(kDistributions), std::end(kDistributions),
                    [this](const char* name) { return os::path_exists(in_libraries(name).c_str()); });
    if (!shared && put_in_front()) outcome += std::string(" and ") + kLibraryPath;
    return {"", false, outcome + " of its ranks"};
  }

  const ProgramMpi& mpi_;
  const std::string& program_;
  const MpiSurroundings& around_;
  std::vector<std::string>& environment_;
};

}  // namespace

MpiPlan plan_mpi(const ProgramMpi& mpi, const std::string& program, const MpiSurroundings& surroundings,
                 std::vector<std::string>& environment) {
  return Planner(mpi, program, surroundings, environment).plan();
}

std::vector<MpiLibrary> other_mpis_mapped(const std::string& maps, const std::string& root) {
  std::vector<MpiLibrary> found;
  for (size_t begin = 0; begin < maps.size();) {
    const size_t end = std::min(maps.find('\n', begin), maps.size());
    const std::string line = maps.substr(begin, end - begin);
    begin = end + 1;
    const size_t at = line.find('/');
    if (at == std::string::npos) continue;
    const std::string path = line.substr(at);
    if (path.ends_with(" (deleted)")) continue;  // replaced while in use: its names can no longer be read
    const auto is_same = [&](const MpiLibrary& library) { return library.path == path; };
    if (std::any_of(found.begin(), found.end(), is_same)) continue;
    const MpiName what = mpi_name_of(base_of(path));
    if (what.abi == MpiAbi::none || what.companion) continue;
    if (is_hearth_library(root + path)) return {};
    found.push_back({base_of(path), what, path, ""});
  }
  return found;
}

std::string remedy_for(const MpiName& what, const std::string& libraries) {
  const char* facade = what.abi == MpiAbi::mpich      ? kFacades[0]
                       : what.abi == MpiAbi::open_mpi ? kFacades[1]
                                                      : nullptr;
  if (facade != nullptr && is_hearth_library(libraries + "/" + facade)) {
    return "put " + libraries + " in front of LD_LIBRARY_PATH where the program is started";
  }
  return "build it, or Python's mpi4py, with Hearth's mpicc, or start it with the mpiexec of that library";
}

}  // namespace hearth::launch
