// mpiexec for one machine: from its command line to its exit code. docs/guide/launching.md tells its users
// what it promises.
#pragma once

namespace hearth::launch {

/// Runs the job that the command line describes. `arguments` are main's own; a helper process overwrites its
/// copy of them.
int mpiexec(char** arguments, char** environment);

}  // namespace hearth::launch
