// Tests which function the name malloc is bound to in this process. Separate from malloc.cpp, where the
// compiler would bind the name to the definition in that file.
#pragma once

#include <cstddef>

/// Hearth's malloc, under a name that no other library defines.
extern "C" void* hearth_heap_malloc(size_t bytes);

namespace hearth::heap {

/// The function that a call of malloc() reaches.
void* (*named_malloc())(size_t);

}  // namespace hearth::heap
