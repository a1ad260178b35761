// The words in which mpiexec tells what happened to a rank and what the others were doing.
#pragma once

#include <cstdint>
#include <string>

#include "base/os_process.h"
#include "shm/layout.h"

namespace hearth::launch {

/// Why a rank's end is the job's end.
enum class Cause { none, signal, exit_code, no_finalize };
Cause cause_of(const os::ProcessEnd& end, shm::RankPhase phase);
/// mpiexec's exit code for it.
int exit_code_of(const os::ProcessEnd& end);

/// "was killed by SIGSEGV: it touched memory that is not its own".
std::string describe_end(const os::ProcessEnd& end, Cause cause, bool memory_ran_out);
/// "waits in a receive from rank 3, tag 7, for 2.5 s": what a rank that has not ended is doing.
std::string describe_state(const shm::RankBlock& block, uint64_t now_ns);

}  // namespace hearth::launch
