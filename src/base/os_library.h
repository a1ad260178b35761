// Shared libraries that are opened at run time, when somebody asks for what only they can do.
#pragma once

#include <string>

namespace hearth::os {

/// Opens a library: a name is searched for as the system's loader does, a path is taken as it is. nullptr
/// with `problem` in the loader's words on failure. It stays until the process ends.
void* open_library(const std::string& name, std::string& problem);
/// The address of a function in it; nullptr when it has none of this name.
void* function_in(void* library, const char* name);

}  // namespace hearth::os
