// Names that users give to objects (MPI 5.0 section 7.8).
#pragma once

#include <cstring>
#include <string>

#include "mpi.h"

namespace hearth::abi {

/// Longer names are truncated.
inline void set_name(std::string& name, const char* text) {
  name.assign(text, strnlen(text, MPI_MAX_OBJECT_NAME - 1));
}

/// `text` has room for MPI_MAX_OBJECT_NAME characters.
inline void get_name(const std::string& name, char* text, int& length) {
  std::memcpy(text, name.c_str(), name.size() + 1);
  length = static_cast<int>(name.size());
}

}  // namespace hearth::abi
