// Shared libraries that are opened at run time, when somebody asks for what only they can do.
#pragma once

#include <cstdint>
#include <string>

namespace hearth::os {

/// Opens a library: a name is searched for as the system's loader does, a path must begin at the root.
/// nullptr with `problem` in words on failure. It stays until the process ends.
void* open_library(const std::string& name, std::string& problem);
/// The address of a function in it; nullptr when it has none of this name.
void* function_in(void* library, const char* name);

/// Where in the program's files an address lies.
struct LibraryPlace {
  const void* base = nullptr;  // where the file is loaded; nullptr: in none
  const char* path = "";
  const char* symbol = "";  // of the function, where the file exports it
  uint64_t offset = 0;      // from the base
};
LibraryPlace library_of(const void* address);

}  // namespace hearth::os
