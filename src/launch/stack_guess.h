// Where a process that sleeps is, without stopping it: what on its stack looks like the place behind a call.
// Left-overs of calls that are over look the same, so that it is a guess.
#pragma once

#include <cstdint>
#include <string>

#include "launch/symbols.h"

namespace hearth::launch {

/// "step+0x1c <- main+0x2b in solver", of the program itself; "" where the system does not let this one look,
/// or nothing is found.
std::string guess_callers(int pid, const ProcessCode& code);
/// The process's stack pointer, from the text of /proc/PID/syscall; 0 while it runs.
uint64_t stack_pointer_in(const std::string& text);

}  // namespace hearth::launch
