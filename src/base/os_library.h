// Shared libraries that are opened at run time, when a feature that needs them is requested.
#pragma once

#include <cstdint>
#include <string>

namespace hearth::os {

/// Opens a library, given by a name, which the system's loader searches for, or by an absolute path. nullptr
/// with the reason in `problem` on failure. It stays open until the process ends.
void* open_library(const std::string& name, std::string& problem);
/// The address of a function in it; nullptr if it has none of this name.
void* function_in(void* library, const char* name);

/// The file in which an address of this process lies.
struct LibraryPlace {
  const void* base = nullptr;  // where the file is loaded; nullptr: the address is in no file
  const char* path = "";
  const char* symbol = "";  // of the function, if the file exports it
  uint64_t offset = 0;      // from the base
};
LibraryPlace library_of(const void* address);

}  // namespace hearth::os
