#include <cstdlib>

#include "heap/malloc.h"

namespace hearth::heap {

void* (*named_malloc())(size_t) {
  return &std::malloc;
}

}  // namespace hearth::heap
