// Messages about how a rank ended; launch/why_words.h has those about what the other ranks were doing.
#pragma once

#include <string>

#include "base/os_process.h"
#include "shm/layout.h"

namespace hearth::launch {

/// Why the end of a rank ends the job.
enum class Cause { none, signal, exit_code, no_finalize };
Cause cause_of(const os::ProcessEnd& end, shm::RankPhase phase);
/// mpiexec's exit code for this end.
int exit_code_of(const os::ProcessEnd& end);

/// The cause as the other ranks read it in the segment.
shm::DeathCause death_cause_of(Cause cause, bool memory_ran_out);

/// "was killed by SIGSEGV: it touched memory that is not its own".
std::string describe_end(const os::ProcessEnd& end, Cause cause, bool memory_ran_out);

}  // namespace hearth::launch
