#include "base/os_next_function.h"

#include <dlfcn.h>

namespace hearth::os {

void* next_function(const char* name) {
  return ::dlsym(RTLD_NEXT, name);
}

}  // namespace hearth::os
