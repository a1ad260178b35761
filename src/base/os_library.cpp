#include "base/os_library.h"

#include <dlfcn.h>

namespace hearth::os {

void* open_library(const std::string& name, std::string& problem) {
  void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* words = ::dlerror();
    problem = words == nullptr ? "unknown" : words;
  }
  return library;
}

void* function_in(void* library, const char* name) {
  return ::dlsym(library, name);
}

}  // namespace hearth::os
