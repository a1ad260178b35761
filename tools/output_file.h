// Files that the tools write for their users.
#pragma once

#include <string>

#include "base/status.h"

namespace hearth::tools {

/// Writes the whole file or leaves what was there; makes its folder. "-" is standard output.
Status write_file(const std::string& name, const std::string& text);
/// Whether that would work; makes the folder, and leaves the file as it is.
Status check_writable(const std::string& name);

}  // namespace hearth::tools
