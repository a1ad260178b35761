// Guesses where a sleeping process is, without stopping it: searches its stack for return addresses.
// Left-overs of completed calls look the same, so the result is a guess.
#pragma once

#include <cstdint>
#include <string>

#include "launch/symbols.h"

namespace hearth::launch {

/// "step+0x1c <- main+0x2b in solver": functions of the program itself; "" if the stack cannot be read or
/// nothing is found.
std::string guess_callers(int pid, const ProcessCode& code);
/// The process's stack pointer, from the text of /proc/PID/syscall; 0 while it runs.
uint64_t stack_pointer_in(const std::string& text);

}  // namespace hearth::launch
