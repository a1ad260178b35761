// Where a thread is: the calls that led here. For reports, not on the data path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hearth::os {

/// Fills in where the calls return to, the innermost first, from the caller of this function outward; how
/// many. Stops where the system's tables do not say how to go on. Takes no memory.
int callers(std::span<uint64_t> addresses);
/// Whether these bytes of code end with a call of this kind of processor.
bool ends_with_call(std::span<const std::byte> code);
/// The system's number of this thread.
int thread_id();

}  // namespace hearth::os
