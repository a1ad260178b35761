#include "base/os_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "base/chaos.h"

namespace hearth::os {

void* open_library(const std::string& name, std::string& problem) {
  // A relative path would let the working folder determine which code is loaded.
  if (name.find('/') != std::string::npos && name[0] != '/') {
    problem =
        "'" + name + "' is a path that depends on the working folder. Remedy: write it from the root on";
    return nullptr;
  }
  if (chaos::refuses(chaos::Call::library)) {
    problem = std::strerror(errno);
    return nullptr;
  }
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

namespace {

// The loader knows the program only as argv[0].
const char* own_program_path() {
  static char path[PATH_MAX];
  static const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path - 1);
  return length > 0 ? path : "";
}

}  // namespace

LibraryPlace library_of(const void* address) {
  Dl_info found = {};
  if (::dladdr(address, &found) == 0 || found.dli_fbase == nullptr) return {};
  const bool named = found.dli_fname != nullptr && found.dli_fname[0] == '/';
  return {
      found.dli_fbase, named ? found.dli_fname : own_program_path(),
      found.dli_sname != nullptr ? found.dli_sname : "",
      static_cast<uint64_t>(static_cast<const char*>(address) - static_cast<const char*>(found.dli_fbase))};
}

}  // namespace hearth::os
