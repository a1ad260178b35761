// The function that a library stands in front of. Compiled into the library that asks: the search begins
// behind it.
#pragma once

namespace hearth::os {

/// The next function of this name in the order in which the system's loader searches; nullptr when there is
/// none.
void* next_function(const char* name);

}  // namespace hearth::os
