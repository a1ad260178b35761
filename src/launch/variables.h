// Checks the variables HEARTH_... of mpiexec's environment before a job starts, so that a misspelt name or
// value is reported once and not by every rank.
#pragma once

#include <string>
#include <vector>

namespace hearth::launch {

/// One line for each unknown variable, with the nearest known name if one is similar. `names` are the names
/// of all variables of the environment.
std::vector<std::string> unknown_variables(const std::vector<std::string>& names);

/// Removes variables whose value is invalid from the environment of this process. mpiexec has reported them
/// already; ranks would report them again.
void remove_unreadable_variables();

}  // namespace hearth::launch
