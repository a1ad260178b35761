// Names of functions that a file does not export: from its symbol table, where it was not stripped.
#pragma once

#include <cstdint>
#include <string>

namespace hearth::profile {

/// The function around an address, given from where the file is loaded; "" where the file does not tell.
std::string function_at(const std::string& path, uint64_t offset);

}  // namespace hearth::profile
