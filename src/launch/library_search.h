// Finds shared libraries as the system's loader does (ld.so(8)): rpath, LD_LIBRARY_PATH, runpath, the cache
// /etc/ld.so.cache, the usual folders. Used by mpiexec and the hearth tool to know which MPI library a
// program gets before it starts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launch/elf_file.h"

namespace hearth::launch {

/// The paths of a library according to the contents of /etc/ld.so.cache. Empty also if they are malformed.
std::vector<std::string> paths_in_cache(std::string_view contents, std::string_view name);

/// One file of a program: the program itself, or a library that it loads.
struct LoadedFile {
  std::string name;      // as the file that needs it spells it; for the program its path
  std::string path;      // "" if it was not found
  size_t needed_by = 0;  // index of the file that needs it first; 0 for the program itself
  ElfFile elf;
};

/// The files that the loader would load for a program, in its order, the program first. A library for which
/// `is_leaf` holds is found, but what it needs is not followed. `environment` is that of the program,
/// `folder` its working folder, "" for the current one.
class LibrarySearch {
 public:
  LibrarySearch(const std::vector<std::string>& environment, const std::string& folder);
  std::vector<LoadedFile> files_of(const std::string& program, bool (*is_leaf)(const std::string& name));

 private:
  std::string find(const std::string& name, size_t needed_by);
  std::string find_in(const std::string& folders, const std::string& origin, const std::string& name) const;
  std::string find_in_cache(const std::string& name);
  bool fits(const std::string& path) const;
  bool is_loaded(const std::string& name) const;
  std::string origin_of(size_t index) const;

  std::string folder_;
  std::string library_path_;
  std::vector<std::string> preloads_;
  std::vector<LoadedFile> files_;
  std::string cache_;  // contents of /etc/ld.so.cache once a library was searched there
};

/// The libraries of LD_PRELOAD in an environment.
std::vector<std::string> preloads_of(const std::vector<std::string>& environment);

}  // namespace hearth::launch
