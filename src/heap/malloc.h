// Which function the name malloc means in this process. Apart from malloc.cpp, whose compiler would take it
// for the one there.
#pragma once

#include <cstddef>

/// Our malloc, under a name that nobody else has.
extern "C" void* hearth_heap_malloc(size_t bytes);

namespace hearth::heap {

/// What a call of malloc() reaches.
void* (*named_malloc())(size_t);

}  // namespace hearth::heap
