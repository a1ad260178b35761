// mpiexec for one machine: from its command line to its exit code. docs/guide/launching.md is its
// specification for users.
#pragma once

namespace hearth::launch {

/// Runs the job that the command line describes. `arguments` are main's own; the reaper overwrites its copy
/// of them.
int mpiexec(char** arguments, char** environment);

}  // namespace hearth::launch
