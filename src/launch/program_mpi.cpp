#include "launch/program_mpi.h"

#include <elf.h>

#include <algorithm>
#include <array>

#include "base/os_file.h"
#include "launch/base_name.h"
#include "launch/elf_file.h"
#include "launch/library_search.h"
#include "launch/program.h"

namespace hearth::launch {
namespace {

// Limits of Linux: the length of a script's first line, and scripts whose interpreters are scripts.
constexpr size_t kFirstLineBytesMax = 256;
constexpr int kScriptsMax = 4;
// The libraries of Hearth have names with this prefix in their symbol tables: libmpi_abi.so those of the
// shared heap, the others the table of calls by which they reach libmpi_abi.so.
constexpr const char* kHearthPrefix = "hearth_";

constexpr const char* kStandard = "the standard ABI of MPI 5";
constexpr const char* kMpich = "MPICH, Intel MPI or MVAPICH";
constexpr const char* kOpenMpi = "Open MPI 3 to 5";
constexpr const char* kOldOpenMpi = "Open MPI before 3";
constexpr const char* kOldMpich = "MPICH before 3.1";
constexpr const char* kOldIntel = "Intel MPI before 5";
constexpr const char* kCray = "Cray MPICH";

struct Row {
  std::string_view stem;     // the name up to ".so"; a stem that ends in '*' stands for all that begin so
  std::string_view version;  // the first number after ".so."; "" for any
  MpiName what;
};
// The first matching row counts.
constexpr Row kRows[] = {
    {"libmpi_abi", "1", {MpiAbi::standard, kStandard, false}},
    {"libmpifort_abi", "1", {MpiAbi::standard, kStandard, true}},
    {"libmpi_abi", "", {MpiAbi::other, "a later standard ABI of MPI", false}},
    {"libmpi", "12", {MpiAbi::mpich, kMpich, false}},
    {"libmpich", "12", {MpiAbi::mpich, kMpich, false}},
    {"libmpifort", "12", {MpiAbi::mpich, kMpich, true}},
    {"libmpichfort", "12", {MpiAbi::mpich, kMpich, true}},
    {"libmpicxx", "12", {MpiAbi::mpich, kMpich, true}},
    {"libmpichcxx", "12", {MpiAbi::mpich, kMpich, true}},
    {"libmpi", "40", {MpiAbi::open_mpi, kOpenMpi, false}},
    {"libmpi_mpifh", "40", {MpiAbi::open_mpi, kOpenMpi, true}},
    {"libmpi_usempi", "40", {MpiAbi::open_mpi, kOpenMpi, true}},
    {"libmpi_usempi_ignore_tkr", "40", {MpiAbi::open_mpi, kOpenMpi, true}},
    {"libmpi_usempif08", "40", {MpiAbi::open_mpi, kOpenMpi, true}},
    {"libmpi_cxx", "40", {MpiAbi::open_mpi, kOpenMpi, true}},
    {"liboshmem", "40", {MpiAbi::open_mpi, kOpenMpi, true}},
    {"libopen-rte", "", {MpiAbi::open_mpi, kOpenMpi, true}},
    {"libopen-pal", "", {MpiAbi::open_mpi, kOpenMpi, true}},
    {"libmpi", "0", {MpiAbi::other, kOldOpenMpi, false}},
    {"libmpi", "1", {MpiAbi::other, kOldOpenMpi, false}},
    {"libmpi", "20", {MpiAbi::other, kOldOpenMpi, false}},
    {"libmpi", "4", {MpiAbi::other, kOldIntel, false}},
    {"libmpi_mt", "", {MpiAbi::other, kOldIntel, false}},
    {"libmpi", "", {MpiAbi::other, "an MPI library that Hearth does not know", false}},
    {"libmpich", "", {MpiAbi::other, kOldMpich, false}},
    {"libmpl_mpich", "", {MpiAbi::other, kOldMpich, true}},
    {"libmpi_ibm", "", {MpiAbi::other, "IBM Spectrum MPI", false}},
    {"libmpi_cray", "", {MpiAbi::other, kCray, false}},
    {"libmpi_gnu_*", "", {MpiAbi::other, kCray, false}},
    {"libmpi_intel", "", {MpiAbi::other, kCray, false}},
    {"libmpi_nvidia", "", {MpiAbi::other, kCray, false}},
    {"libmpi_amd", "", {MpiAbi::other, kCray, false}},
    {"libmpi_aocc", "", {MpiAbi::other, kCray, false}},
    {"libmsmpi", "", {MpiAbi::other, "Microsoft MPI", false}},
};

bool matches(const Row& row, std::string_view stem, std::string_view version) {
  const bool any = row.stem.ends_with('*');
  const bool same = any ? stem.starts_with(row.stem.substr(0, row.stem.size() - 1)) : stem == row.stem;
  return same && (row.version.empty() || row.version == version);
}

bool is_mpi_library(const std::string& name) {
  return mpi_name_of(base_of(name)).abi != MpiAbi::none;
}

std::string beginning_of(const std::string& path) {
  std::array<char, kFirstLineBytesMax> bytes;
  const os::Descriptor file = os::open_regular_file(path.c_str());
  if (!file.open()) return "";
  const intptr_t count = os::read_at(file.number(), bytes.data(), bytes.size(), 0);
  return count <= 0 ? "" : std::string(bytes.data(), static_cast<size_t>(count));
}

// The program that `env` starts: the first word that is neither an option nor a setting.
std::string program_of_env(const std::vector<std::string>& words) {
  for (size_t i = 1; i < words.size(); ++i) {
    if (!words[i].starts_with("-") && words[i].find('=') == std::string::npos) return words[i];
  }
  return words[0];
}

std::string program_of_interpreter(const std::vector<std::string>& words, const std::string& folder,
                                   const std::vector<std::string>& environment) {
  const std::string name = base_of(words[0]) == "env" ? program_of_env(words) : words[0];
  const char* search_path = find_variable(environment, "PATH");
  return find_program(name, folder, search_path == nullptr ? "" : search_path).path;
}

bool is_python_name(const std::string& name) {
  return name.starts_with("python") || name.starts_with("pypy");
}

// Open MPI 1.10 had the number that MPICH has; its programs refer to its objects by name.
MpiName corrected(const MpiName& what, const std::string& needed_by) {
  if (what.abi != MpiAbi::mpich || !has_dynamic_name(needed_by, "ompi_mpi_")) return what;
  return {MpiAbi::other, kOldOpenMpi, what.companion};
}

}  // namespace

MpiName mpi_name_of(std::string_view file_name) {
  const size_t at = file_name.find(".so");
  if (at == std::string_view::npos) return {};
  const std::string_view stem = file_name.substr(0, at);
  std::string_view version = file_name.substr(at + 3);
  if (!version.empty() && version[0] != '.') return {};
  if (!version.empty()) version.remove_prefix(1);
  version = version.substr(0, version.find('.'));
  for (const Row& row : kRows) {
    if (matches(row, stem, version)) return row.what;
  }
  return {};
}

std::vector<std::string> interpreter_of(std::string_view beginning) {
  std::vector<std::string> words;
  if (!beginning.starts_with("#!")) return words;
  beginning.remove_prefix(2);
  const std::string_view line = beginning.substr(0, beginning.find('\n'));
  for (size_t start = 0; start < line.size();) {
    const size_t end = std::min(line.find_first_of(" \t\r", start), line.size());
    if (end > start) words.emplace_back(line.substr(start, end - start));
    start = end + 1;
  }
  return words;
}

MpiAbi ProgramMpi::abi() const {
  MpiAbi result = MpiAbi::none;
  for (const MpiLibrary& library : libraries) {
    if (result != MpiAbi::none && result != library.what.abi) return MpiAbi::other;
    result = library.what.abi;
  }
  return result;
}

std::string ProgramMpi::description() const {
  std::string text;
  std::vector<std::string_view> titles;
  for (const MpiLibrary& library : libraries) {
    if (std::find(titles.begin(), titles.end(), library.what.title) != titles.end()) continue;
    titles.emplace_back(library.what.title);
    text += (text.empty() ? "" : " and ") + std::string(library.what.title) + " (" + base_of(library.name);
    if (library.needed_by != program) text += ", needed by " + base_of(library.needed_by);
    text += ")";
  }
  return text;
}

bool is_hearth_library(const std::string& path) {
  if (has_dynamic_name(path, kHearthPrefix)) return true;
  // A library without symbols of its own, such as libmpich.so.12, leads to one beside it.
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const std::vector<std::string> needed = read_elf(path).needed;
  return std::any_of(needed.begin(), needed.end(), [&](const std::string& name) {
    return is_mpi_library(name) && has_dynamic_name(folder + base_of(name), kHearthPrefix);
  });
}

ProgramMpi find_program_mpi(const std::string& program, const std::vector<std::string>& environment,
                            const std::string& folder) {
  ProgramMpi result;
  result.program = program;
  for (int i = 0; i < kScriptsMax; ++i) {
    const std::vector<std::string> words = interpreter_of(beginning_of(in_folder(folder, result.program)));
    if (words.empty()) break;
    result.is_script = true;
    result.program = program_of_interpreter(words, folder, environment);
    if (result.program.empty()) return result;
  }
  result.is_python = is_python_name(base_of(result.program));
  LibrarySearch search(environment, folder);
  const std::vector<LoadedFile> files = search.files_of(result.program, is_mpi_library);
  const ElfFile& elf = files[0].elf;
  if (!elf.is_elf) result.program.clear();
  result.is_static = elf.is_elf && elf.width == ELFCLASS64 && elf.loader.empty() && elf.needed.empty();
  bool has_main_library = false;
  for (size_t i = 1; i < files.size(); ++i) {
    const MpiName what = mpi_name_of(base_of(files[i].name));
    if (what.abi == MpiAbi::none) continue;
    const std::string& needed_by = files[files[i].needed_by].path;
    result.libraries.push_back(
        {files[i].name, corrected(what, in_folder(folder, needed_by)), files[i].path, needed_by});
    has_main_library = has_main_library || !what.companion;
  }
  // mpirun of Open MPI needs libopen-pal.so, but is no MPI program.
  if (!has_main_library) result.libraries.clear();
  return result;
}

}  // namespace hearth::launch
