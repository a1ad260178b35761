// Errors of files: the class of an errno, and its message with the remedy.
#pragma once

#include <string>

#include "base/status.h"

namespace hearth::io {

/// A Status for an errno of a call that `action` names, as in "open", "write to". Pre: error != 0.
[[gnu::cold]] Status fail_for(int error, const char* action, const std::string& name);

}  // namespace hearth::io
