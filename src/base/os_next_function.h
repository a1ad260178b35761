// The function that a library interposes. Compiled into the interposing library, because the search begins
// after the library that calls.
#pragma once

namespace hearth::os {

/// The next function of this name in the loader's search order (RTLD_NEXT); nullptr if there is none.
void* next_function(const char* name);

}  // namespace hearth::os
