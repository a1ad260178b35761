// The call stack of a thread, for reports; not on the data path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hearth::os {

/// Stores return addresses, innermost first, from the caller of this function outward; returns how many.
/// Stops where unwind information is missing. Allocates no memory.
int callers(std::span<uint64_t> addresses);
/// Whether these bytes of code end with a call instruction.
bool ends_with_call(std::span<const std::byte> code);
/// The system's id of this thread.
int thread_id();

}  // namespace hearth::os
