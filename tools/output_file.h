// Files that the tools write for their users.
#pragma once

#include <string>

#include "base/status.h"

namespace hearth::tools {

/// Writes the whole file, or leaves the old one; makes its folder. "-" is standard output.
Status write_file(const std::string& name, const std::string& text);
/// Whether write_file() would succeed; makes the folder and leaves the file unchanged.
Status check_writable(const std::string& name);

}  // namespace hearth::tools
